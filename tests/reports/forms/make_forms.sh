#!/bin/sh
# Makes the texts in this folder and the files of ../binaries anew, with the tools named by
#   NVCC130 NVCC135 PTXAS129 PTXAS118 CUOBJDUMP (paths), and cmake, ninja and c++filt on PATH.
# The numbers in test_read_forms.py and test_read_binaries.py are those of these files.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=/tmp/occlsp-forms
rm -rf "$work" && mkdir "$work" && cd "$work"
cp "$here/source.cu" .
export LC_ALL=C
two="-gencode=arch=compute_80,code=sm_80 -gencode=arch=compute_90,code=sm_90"

"$NVCC130" -gencode=arch=compute_80,code=sm_80 -gencode=arch=compute_100,code=sm_100 -Xptxas -v \
    -c -o two.o source.cu 2> nvcc130_two_archs.txt
"$NVCC135" -arch sm_90a -Xptxas -v -cubin -o a.cubin source.cu 2> nvcc135_sm90a.txt
c++filt < nvcc135_sm90a.txt > cppfilt.txt
grep -E 'Compiling|Used' nvcc130_two_archs.txt > grep_compiling_used.txt
grep ptxas nvcc130_two_archs.txt > grep_ptxas.txt
grep -E 'Function properties|stack frame|Used' nvcc135_sm90a.txt > grep_properties.txt
"$NVCC130" -arch compute_75 -ptx -o p.ptx source.cu
sed -i 's/^\.version.*/.version 7.8/; s/^\.target.*/.target sm_70/' p.ptx
cp "$PTXAS129" ./ptxas-12.9
./ptxas-12.9 -v -arch sm_80 -o abi7_129.cubin p.ptx 2> ptxas129_renamed.txt
"$PTXAS118" -v -arch sm_70 -o abi7_118.cubin p.ptx 2> ptxas118_sm70.txt
"$NVCC130" -arch sm_90 -rdc=true -Xptxas -v -c -o r.o source.cu 2> rdc_sm90.txt
"$NVCC130" -arch sm_90 -rdc=true -Xnvlink -v -o r r.o 2> nvlink_sm90.txt
cat rdc_sm90.txt nvlink_sm90.txt > rdc_then_nvlink_sm90.txt
"$NVCC130" $two -rdc=true -lineinfo -c -o separate.o source.cu
"$NVCC130" $two -rdc=true -Xnvlink -v -o linked separate.o 2> nvlink_two_targets.txt
"$NVCC130" -arch sm_90 -G -Xptxas -v -cubin -o debug.cubin source.cu 2> debug_sm90.txt
"$NVCC130" -arch sm_80 -maxrregcount 24 -Xptxas -v,-warn-spills,-warn-lmem-usage -cubin \
    -o m.cubin source.cu 2> maxrregcount.txt
"$CUOBJDUMP" --dump-resource-usage two.o > cuobjdump_object.txt
"$CUOBJDUMP" --dump-resource-usage linked > cuobjdump_executable.txt

mkdir project && cp source.cu project/a.cu
sed 's/helper/assist/g; s/caller/summer/g; s/tight/narrow/g; s/ring/loop/g; /^#ifndef/,$d' \
    source.cu > project/b.cu
cat > project/CMakeLists.txt <<'CMAKE'
cmake_minimum_required(VERSION 3.20)
project(forms LANGUAGES CUDA)
add_executable(forms a.cu b.cu)
set_target_properties(forms PROPERTIES CUDA_ARCHITECTURES "80;90" CUDA_SEPARABLE_COMPILATION ON)
target_compile_options(forms PRIVATE -Xptxas=-v)
target_link_options(forms PRIVATE $<DEVICE_LINK:-Xnvlink=-v>)
CMAKE
for how in Ninja "Unix Makefiles"; do
    CUDACXX="$NVCC130" cmake -G "$how" -B "$how" project > configure.txt
    name=$(echo "$how" | cut -d' ' -f1 | tr 'NU' 'nu')
    cmake --build "$how" -v -j2 > "cmake_${name}_verbose.txt" 2>&1
    cmake --build "$how" --clean-first -j2 > "cmake_$name.txt" 2>&1
done

"$NVCC135" -arch sm_90a -lineinfo -cubin -o lines_sm90a.cubin source.cu
"$NVCC135" $two -concat -fatbin -o concat.fatbin source.cu
"$NVCC130" $two -Xfatbin --compress-all -compress-mode=speed -fatbin -o lz4.fatbin source.cu
"$NVCC130" $two -Xfatbin --compress-all -compress-mode=size -fatbin -o zstd.fatbin source.cu
"$NVCC130" $two -rdc=true -lineinfo -Xcompiler -fPIC -c -o pic.o source.cu
"$NVCC130" $two -dlink -Xcompiler -fPIC -o dlink.o pic.o
g++ -shared -o linked.so pic.o dlink.o -Wl,--unresolved-symbols=ignore-all
strip --strip-unneeded linked.so
ar rcs library.a two.o separate.o

for text in *.txt; do
    sed "s|$work|/home/u/forms|g; s|$(dirname "$NVCC130")|/usr/local/cuda/bin|g
        s|$(dirname "$(command -v cmake)")|/usr/bin|g; s|/[^ ]*/cmake/data/bin/|/usr/bin/|g" "$text" \
        > "$here/$text"
done
rm -f "$here/configure.txt"
cp abi7_118.cubin abi7_129.cubin lines_sm90a.cubin debug.cubin concat.fatbin lz4.fatbin zstd.fatbin \
    separate.o linked.so library.a "$here/../binaries/"
