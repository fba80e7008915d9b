"""The sentence patterns of the sample corpus's training split, which `write_corpus.py` fills with `phrases/`.

`{a}` and `{b}` are places; `{x...}` and `{y...}` are two opinions in one of the forms of `phrases/` or of `FORMS`.
`{link}` joins what follows to what stands before, by whether the two opinions agree.
"""

# Empty strings are the share of sentences that go without.
OPENERS = ("",) * 14 + (
    "honestly, ",
    "to be fair, ",
    "for what it's worth, ",
    "speaking as a local, ",
    "in my experience, ",
    "well, ",
    "I must say ",
    "just so you know, ",
    "believe me, ",
    "in short: ",
    "after two years I can tell you that ",
    "my honest opinion: ",
    "ask anyone: ",
    "five years on, ",
)
TOPICS = (
    "{a}? well, ",
    "as for {a}, ",
    "about {a}: ",
    "you asked about {a}: ",
    "I know {a} quite well: ",
    "we spent a year in {a}; ",
    "if you are thinking of {a}, bear in mind that ",
    "the thing with {a} is that ",
    "{a}, in a nutshell: ",
    "review of {a}: ",
    "I rent in {a}, and ",
    "my son has a flat in {a}. ",
)
ENDINGS = (".",) * 8 + ("", "", "!", " :)", ", that's all I can say.", ". hope that helps.", ". just my two pence.")

# What an opinion may be said with when it names the place ...
NAMING = (
    *("{a} {x.predicate}",) * 5,
    *("{a} has {x.having}",) * 2,
    *("in {a} {x.clause}",) * 3,
    *("{a} is {x.adjective}",) * 2,
    *("{a} {x.negated}",) * 3,
    "I lived in {a} and {x.clause}",
    "{x.clause} in {a}",
    "I'd call {a} {x.adjective}",
    "{a} strikes me as {x.adjective}",
    "nobody would call {a} {x.flipped}",
    "{x.feeling} {x.noun} in {a}",
    "{x.noun} in {a} {x.verdict}",
    "everyone I know in {a} says the same: {x.clause}",
)
# ... and when the place has been named.
FOLLOWING = (
    *("{x.clause}",) * 4,
    *("it {x.predicate}",) * 4,
    "the place {x.predicate}",
    "the area {x.predicate}",
    "it has {x.having}",
    "you get {x.having}",
    "it is {x.adjective}",
    *("it {x.negated}",) * 2,
    "no one would call it {x.flipped}",
    "{x.feeling} {x.noun}",
    "{x.noun} {x.verdict}",
)

LINKS = {
    # Two opinions about one place: the same polarity or not; and what fits either.
    ("one place", True): (
        *(", and ", " and ", ", plus ", ". also, ", "; what is more, ", ". on top of that, ", ". and "),
        *(", not to mention that ", ". to top it all, "),
    ),
    ("one place", False): (
        *(", but ", " but ", ", but ", ", although ", ", though ", ", yet ", ". mind you, ", ". that said, "),
        *(". then again, ", ". on the other hand, ", ". however, ", ", even if ", "; still, ", ", except that "),
        *(", I just wish I could forget that ", ". but ", " - only ", ", which is odd, because "),
    ),
    ("one place", None): (". ", "; ", ", ", " - ", " and "),
    ("two places", True): (", and ", "; ", ", and from what I have seen ", ". meanwhile, ", ". "),
    ("two places", False): (
        *(", whereas ", ", while ", ", but ", ". by contrast, ", "; ", ". meanwhile, ", ", and "),
        *(", though ", ". then there's the opposite: "),
    ),
    ("two places", None): ("; ", ". ", ", ", " and "),
}

# Two opinions about one place. True: both polarities alike; False: different; None: as they come.
ONE_PLACE = {
    None: (
        *("{naming_x}{link}{following_y}",) * 12,
        *("{topic}{following_x}{link}{following_y}",) * 3,
        "{a} {x.predicate}{link}it {y.predicate}",
        "{a} is {x.adjective}{link}it is {y.adjective}",
        "{a} has {x.having}{link}it has {y.having}",
        "{a}: {x.adjective}, {y.adjective}",
        "two things about {a}. one: {x.clause}. two: {y.clause}",
        "{a} means {x.having}. it also means {y.having}",
        "when I think of {a} I think of {x.having} and {y.having}",
        "{x.clause}; {y.clause}: that's {a}",
        "{x.noun} in {a} {x.verdict}, {y.noun} {y.verdict}",
        "{a}, which {x.predicate}, also {y.predicate}",
        "living in {a} I learnt two things: it {x.predicate} and it {y.predicate}",
    ),
    True: (
        *("{a} is neither {x.flipped} nor {y.flipped}",) * 3,
        "{a} {x.predicate} and {y.predicate}",
        "{a} is {x.adjective} and {y.adjective}",
        "{a} is both {x.adjective} and {y.adjective}",
        "not only is {a} {x.adjective}, it {y.predicate} too",
        "{a} isn't {x.flipped}, and it isn't {y.flipped} either",
        "it's not just that {a} {x.predicate}: {y.clause}",
    ),
    False: (
        *("{a} {x.predicate} but {y.predicate}",) * 2,
        *("{a} is {x.adjective} but {y.adjective}",) * 2,
        "{a} is {x.adjective}, just not {y.flipped}",
        "{a} is {x.adjective} but not {y.flipped}",
        "{a} isn't {x.flipped}, but it isn't {y.flipped} either",
        "{a} is not {x.flipped} but {y.adjective}",
        "{a} may be {x.adjective}, but it {y.predicate}",
        "{a} may not be {x.flipped}, but {following_y}",
        "although {naming_x}, {following_y}",
        "even though {naming_x}, {following_y}",
        "while {a} {x.predicate}, it {y.predicate}",
        "despite {x.having}, {a} {y.predicate}",
        "{a} {y.predicate} despite {x.having}",
        "in spite of {x.having}, in {a} {y.clause}",
        "for a place that {x.predicate}, {a} {y.predicate}",
        "yes, {naming_x}, but {following_y}",
        "granted, {naming_x}. still, {following_y}",
        "I know {a} {x.predicate}, but {y.clause}",
        "{a}: {x.adjective}, yes; {y.flipped}, no",
        "{x.adjective} as {a} is, it {y.predicate}",
        "on the one hand {a} {x.predicate}, on the other it {y.predicate}",
        "some say {a} {x.predicate}, and they are right; what they forget is that it {y.predicate}",
    ),
}
# The first opinion is positive and the second negative, and in the last two the other way round.
GOOD_AND_BAD = (
    "the good thing about {a} is that it {x.predicate}, the bad thing is that it {y.predicate}",
    "pros of {a}: {x.having}. cons: {y.having}",
    "what I like about {a}: {x.having}. what I don't: {y.having}",
    "I picked {a} because it {x.predicate}; what I hadn't reckoned with is that it {y.predicate}",
    "{a} wins on {x.noun} and loses on {y.noun}",
    "top marks to {a} for {x.noun}, none for {y.noun}",
    "people put up with {y.having} in {a} because it {x.predicate}",
    "the trouble with {a} is {y.having}; what makes up for it is {x.having}",
)

# One opinion about each of two places.
TWO_PLACES = {
    None: (
        *("{naming_x}{link}{naming_y_of_b}",) * 8,
        *("{a} {x.predicate}{link}{b} {y.predicate}",) * 3,
        "in {a} {x.clause}{link}in {b} {y.clause}",
        "{a} has {x.having}{link}{b} has {y.having}",
        "{a} is {x.adjective}{link}{b} is {y.adjective}",
        "{a}: {x.adjective}. {b}: {y.adjective}",
        "I moved from {a}, which {x.predicate}, to {b}, which {y.predicate}",
        "I know {a} for {x.having} and {b} for {y.having}",
        "my brother's verdict: {a} {x.predicate}, {b} {y.predicate}",
        "{x.noun} in {a} {x.verdict}, {y.noun} in {b} {y.verdict}",
    ),
    True: ("{a} {x.predicate}, and {b}, for its part, {y.predicate}",),
    False: (
        "{a} {x.predicate}, unlike {b}, which {y.predicate}",
        "unlike {b}, which {y.predicate}, {a} {x.predicate}",
        "{b} {y.predicate}. not so {a}, which {x.predicate}",
        "where {a} {x.predicate}, {b} {y.predicate}",
        "you can't compare them: {a} {x.predicate}, {b} {y.predicate}",
    ),
}
# `x` of {a}, and its opposite of {b}.
COMPARISONS = (
    *("{a} is {x.comparative} than {b}",) * 5,
    "{a} is a good deal {x.comparative} than {b}",
    "I find {a} {x.comparative} than {b}",
    "{a} was always {x.comparative} than {b}",
    "{b} is nowhere near as {x.word} as {a}",
    "{b} isn't as {x.word} as {a}",
    "{a} is so much more {x.word} than {b}",
    "{b} is less {x.word} than {a}",
    "compared with {b}, {a} is {x.adjective}",
    "next to {b}, {a} {x.predicate}",
    "which is {x.comparative}, {a} or {b}? {a}, no question",
    "anyone who thinks that {b} is {x.comparative} than {a} has it backwards",
    "{a} is {x.adjective} in a way that {b} is not",
)
# `x` of both.
ALIKE = (
    "{a} and {b} are both {x.word}",
    "both {a} and {b} are {x.word}",
    "neither {a} nor {b} is {x.flipped}",
    "{a} is just as {x.word} as {b}, and {b} {x.predicate}",
    "{a} {x.predicate}, and the same goes for {b}",
)
# `x` of {a}; {b} is not judged.
MENTIONS = (
    "my job is in {b}, my bed is in {a}, where {x.clause}",
    "I have never set foot in {b}, but {naming_x}",
    "no idea about {b}, sorry. {naming_x}",
    "{a}, just past {b}, {x.predicate}",
    "before we came to {b} I lived in {a}, where {x.clause}",
    "my cousin has moved to {b} and it is too early to judge; I'm in {a}, which {x.predicate}",
    "somebody else will have to tell you about {b}; {naming_x}",
    "halfway to {b} lies {a}, which {x.predicate}",
    "you ask about {b}? I only know {a}, and {following_x}",
    "my office moved from {b} to {a} last year: {following_x}",
)
# `x` of {a}; of the other aspect only the word falls.
UNKNOWN = (
    "I can't speak for {y.noun} in {a}, but it {x.predicate}",
    "no idea about {y.noun} in {a}; all I know is that it {x.predicate}",
    "you ask about {y.noun} in {a}? I couldn't say. {x.clause}, though",
    "somebody asked me about {y.noun} in {a}. I only told them that it {x.predicate}",
    "{naming_x}. I haven't looked into {y.noun} yet",
    "{naming_x}. can anyone tell me more about {y.noun}?",
)

FORMS = {
    # Before an adjective of the opposite polarity.
    "not": (
        *("isn't", "is not", "isn't exactly", "is hardly", "is anything but", "is far from", "isn't remotely"),
        *("is by no means", "isn't what I'd call", "was never", "is no longer", "has never been", "isn't at all"),
        *("can't be called", "isn't even", "never felt", "is not in the least"),
    ),
    # Before and after a noun that holds no opinion.
    "+feeling": (
        *("I love", "I'm very happy with", "I can't fault", "I was delighted with", "I have no complaints about"),
        *("I'd give full marks to", "we really appreciated", "my parents were impressed by", "what won me over was"),
    ),
    "-feeling": (
        *("I can't stand", "I hated", "I'm fed up with", "I was appalled by", "don't get me started on"),
        *("I'm sick to death of", "we complained about", "my parents were horrified by", "what put me off was"),
    ),
    "+verdict": (
        *("won me over", "suited us fine", "never let me down", "couldn't be better", "beat all my expectations"),
        *("made me smile", "got better and better"),
    ),
    "-verdict": (
        *("let me down", "drove me up the wall", "left a lot to be desired", "couldn't be worse", "put us right off"),
        *("made me weep", "got worse and worse"),
    ),
}
