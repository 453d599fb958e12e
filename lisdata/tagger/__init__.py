"""A learned hexatagger: words to hexatags and relations by a small network, and raw English to words.

`words` and `features` need no torch; `network`, `weights` and `prediction` do, and are imported when they are asked
for. As a parser it is called `tagger` (the English one of this package) or `tagger:FOLDER` (see `lisdata.parsers`).
"""
