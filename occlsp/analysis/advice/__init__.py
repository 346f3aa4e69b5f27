"""Beyond one number: ranking configurations, reading measurements, judging fusions.

Pure: text in, data out. What a model says here is `estimated` wherever it is shown.
"""
