"""Parsers: text to sentences with dependency trees, by spaCy or any function.

`parse` and `tag_text` take a parser by name or as a function; so do `lisdata hexatag --parser` and the option `parser`
of source parsed, by name alone. A function takes texts and gives a list of `ParsedSentence` for each, in order. Stanza,
with its model loaded once a process (`--parser python:stanza_parser:parse` where this is stanza_parser.py):

    from functools import cache

    import stanza
    from lisdata.parsers import ParsedSentence

    @cache
    def pipeline():
        return stanza.Pipeline("en", processors="tokenize,mwt,pos,lemma,depparse")

    def parse(texts):
        for document in pipeline().bulk_process(list(texts)):
            sentences = []
            for sentence in document.sentences:
                words = [(token, word) for token in sentence.tokens for word in token.words]
                sentences.append(
                    ParsedSentence(
                        begin=sentence.tokens[0].start_char,
                        end=sentence.tokens[-1].end_char,
                        word_begins=[token.start_char for token, _ in words],
                        word_ends=[token.end_char for token, _ in words],
                        heads=[word.head for _, word in words],
                        deprels=[word.deprel for _, word in words],
                        forms=[word.text for _, word in words],
                    )
                )
            yield sentences

UDPipe, whose tokenizer says where words are when it is asked for ranges:

    from functools import cache

    from lisdata.parsers import ParsedSentence
    from ufal.udpipe import Model, ProcessingError, Sentence

    @cache
    def model():
        return Model.load("english-ewt.udpipe")

    def parse(texts):
        return [list(sentences_of(text)) for text in texts]

    def sentences_of(text):
        tokenizer = model().newTokenizer("ranges")
        tokenizer.setText(text)
        error, sentence = ProcessingError(), Sentence()
        while tokenizer.nextSentence(sentence, error):
            model().tag(sentence, Model.DEFAULT)
            model().parse(sentence, Model.DEFAULT)
            words = list(sentence.words)[1:]
            tokens = {n: token for token in sentence.multiwordTokens for n in range(token.idFirst, token.idLast + 1)}
            spans = [tokens.get(word.id, word) for word in words]
            begins = [span.getTokenRangeStart() for span in spans]
            ends = [span.getTokenRangeEnd() for span in spans]
            yield ParsedSentence(
                begin=begins[0],
                end=ends[-1],
                word_begins=begins,
                word_ends=ends,
                heads=[word.head for word in words],
                deprels=[word.deprel for word in words],
                forms=[word.form for word in words],
            )
            sentence = Sentence()
"""

from lisdata.parsers.loading import load_parser, parse, pin_parser
from lisdata.parsers.sentences import ParsedSentence, Parser, ParserError
from lisdata.parsers.tagging import TaggedSentence, tag_text

__all__ = [
    "ParsedSentence",
    "Parser",
    "ParserError",
    "TaggedSentence",
    "load_parser",
    "parse",
    "pin_parser",
    "tag_text",
]
