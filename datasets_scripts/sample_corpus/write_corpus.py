"""Writes sentihood-{train,dev,test}.json, a small synthetic corpus in SentiHood's JSON format.

Every clause and sentence below was written for this corpus; the code only joins them. `{a}` and `{b}` stand
for the places spoken of. A label such as "a-price" reads: place a, sentiment negative, aspect price. In a comparison
the better place is Positive and the worse one Negative.

Clauses and whole sentences belong to one split each, so nothing said in dev or test was read in train; only the
connecting words (GLUE) are shared. The output is the same, byte for byte, on every run.
"""

import argparse
import json
import random
import re
from pathlib import Path

SENTIMENTS = {"+": "Positive", "-": "Negative"}
ASPECTS = {"general": "general", "price": "price", "transit": "transit-location", "safety": "safety"}

SEEDS = {"train": 11, "dev": 22, "test": 33}

# How many sentences of each kind; what the kinds are is said at the functions of the same names.
PLAN = {
    "train": {"one": 94, "two": 114, "single": 28, "contrast": 33, "comparison": 46, "silent": 105},
    "dev": {"one": 21, "two": 22, "single": 8, "contrast": 6, "comparison": 10, "silent": 23},
    "test": {"one": 28, "two": 30, "single": 10, "contrast": 8, "comparison": 14, "silent": 30},
}
MIN_WORDS, MAX_WORDS = 5, 35

# Drawn as often as they stand here: people praise, and talk about transport, more than they complain of safety.
CELLS = ("+general",) * 3 + ("+transit",) * 3
CELLS += ("-general", "+price", "-price", "-transit", "+safety", "-safety") * 2

# Empty strings are the share of sentences that go without.
GLUE = {
    "opener": ("",) * 12
    + (
        "honestly, ",
        "to be honest, ",
        "for what it's worth, ",
        "speaking as a local, ",
        "in my experience, ",
        "well, ",
        "I have to say that ",
        "just so you know, ",
        "believe me, ",
        "look, ",
        "you should know that ",
        "anyway, ",
    ),
    "topic": (
        "as for {a}, ",
        "about {a}: ",
        "you asked about {a}: ",
        "I lived in {a} for three years and ",
        "I know {a} quite well: ",
        "I was in {a} until last spring and ",
        "if you are thinking of {a}, bear in mind that ",
        "the thing with {a} is that ",
        "having rented in {a}, I can tell you that ",
        "we spent a year in {a}; ",
        "{a}? well, ",
        "what I remember of {a} is that ",
    ),
    "agree": (", and ", " and ", ", plus ", ". also, ", "; what is more, ", ". on top of that, "),
    "differ": (", but ", " but ", ", although ", ". mind you, ", ". that said, ", ", though ", ", yet "),
    "agree_other": (", and ", ", and ", "; meanwhile, ", ", and from what I have seen "),
    "differ_other": (", whereas ", ", while ", ", but ", "; on the other hand, "),
    "no_view": (
        "I do not know {b}, but ",
        "I have never set foot in {b}, but ",
        "I work in {b}, so I cannot say what it is like to live there, but ",
        "somebody else will have to tell you about {b}; ",
        "my cousin has just moved to {b} and it is too early to judge; ",
        "no idea about {b}, sorry. ",
    ),
    "greeting": ("",) * 7
    + (
        "hi all. ",
        "hello everyone, ",
        "sorry for the late reply. ",
        "another thing: ",
        "by the way, ",
        "thanks for all the answers so far. ",
        "off topic, but ",
    ),
    "closing": ("",) * 12 + (". hope that helps", ". good luck with the move", ". just my two pence"),
    "stop": (".", ".", ".", ""),
}

# Clauses that name the place can open a sentence; the others follow one that does.
CLAUSES = {
    "+general": {
        "train": [
            "{a} is a lovely place to live",
            "I have been in {a} for years and would not swap it for anywhere else",
            "{a} is one of my favourite parts of the city",
            "there is a real sense of community in {a}",
            "most people who move to {a} end up loving it",
            "you will be very happy in {a}",
            "{a} has a great atmosphere",
            "the people in {a} are friendly and welcoming",
            "{a} has come up enormously and is a really nice area now",
            "I would recommend {a} to anybody",
            "{a} is a charming neighbourhood with bags of character",
            "we adore {a} and have no plans to leave",
            "nothing beats {a} on a sunny weekend",
            "it is a brilliant area to live in",
            "the neighbours there are wonderful",
            "I really enjoyed my time there",
            "it feels like a proper village",
            "there is always something going on there",
            "the place has a lovely relaxed feel",
            "it is a great spot for a family",
            "I would move back tomorrow",
            "it is just a really pleasant place to be",
            "the parks and cafes make it a joy to live there",
            "I fell in love with it on the first day",
            "it is my idea of heaven",
        ],
        "dev": [
            "{a} is a delightful part of town",
            "people in {a} are lovely and the streets are pretty",
            "you cannot go wrong with {a}",
            "I absolutely love {a}",
            "{a} has a wonderful village feel",
            "it is a fantastic place to call home",
            "the community there is really friendly",
            "I was very happy living there",
            "it is a nice area with a good buzz",
        ],
        "test": [
            "{a} is a beautiful area and I love it",
            "we have been happy in {a} from the first day",
            "{a} is a really great neighbourhood",
            "you would enjoy living in {a}",
            "the atmosphere in {a} is warm and friendly",
            "I can recommend {a} with all my heart",
            "{a} remains the nicest area I have lived in",
            "it is a lovely, lively place",
            "everyone there is so welcoming",
            "it has loads of character",
            "I would live there again without a second thought",
            "it is a pleasant, leafy place to settle",
            "it is a good area and people love living there",
        ],
    },
    "-general": {
        "train": [
            "{a} is a dump",
            "I hated every minute of living in {a}",
            "there is nothing to do in {a}",
            "{a} is a grim, soulless place",
            "{a} is the worst area I have ever lived in",
            "the people in {a} are rude and unfriendly",
            "{a} is dirty and run down",
            "I would avoid {a}",
            "{a} has gone downhill badly",
            "{a} has no charm whatsoever",
            "most people cannot wait to leave {a}",
            "I have nothing good to say about life in {a}",
            "it is a horrible place to live",
            "the streets are filthy",
            "it is noisy at all hours",
            "I was bored to tears there",
            "the atmosphere is depressing",
            "it is really not a nice area",
            "the neighbours were awful",
            "it has no soul",
            "the place is falling to bits",
            "I could not stand it there",
            "nobody so much as says hello to you there",
            "I would never go back",
        ],
        "dev": [
            "{a} is an ugly, dreary place",
            "I really dislike {a}",
            "{a} is not a nice area at all",
            "life in {a} is dull",
            "you would be miserable in {a}",
            "the whole area is grotty",
            "the place is run down and unloved",
            "it is a boring place to live",
            "I was glad to leave",
        ],
        "test": [
            "{a} is a horrible area",
            "I was miserable the whole time I lived in {a}",
            "{a} is dull and ugly",
            "nobody in {a} is friendly",
            "I would not recommend {a} to anyone",
            "{a} is a depressing place full of litter",
            "{a} is just awful",
            "it is a nasty place to live",
            "there is nothing going on there",
            "the area is filthy",
            "it has a bad atmosphere",
            "I hated it there",
            "it is noisy and unpleasant",
        ],
    },
    "+price": {
        "train": [
            "{a} is one of the cheapest parts of the city",
            "rents in {a} are still very reasonable",
            "you get a lot of flat for your money in {a}",
            "{a} is about as affordable as it gets these days",
            "a student could easily afford a room in {a}",
            "I pay half of what my friends pay since moving to {a}",
            "house prices in {a} have not gone mad yet",
            "you can still find a bargain in {a}",
            "{a} is great value for money",
            "living in {a} will not break the bank",
            "nobody needs a banker's salary to buy in {a}",
            "it costs very little to rent in {a}",
            "the rents there are low",
            "it is cheap as chips",
            "you can get a two-bed there for the price of a studio elsewhere",
            "it is easily within a modest budget",
            "the council tax is low and so is the rent",
            "you will have money left at the end of the month",
            "even a big house there is affordable",
            "my room there was dirt cheap",
            "it costs next to nothing to live there",
            "prices are fair and landlords are open to offers",
            "you get much more space for your money",
            "the deposit on a first flat there is within reach",
        ],
        "dev": [
            "{a} is really cheap for what you get",
            "flats in {a} are affordable even on one wage",
            "you would save a fortune by renting in {a}",
            "{a} offers decent homes at low prices",
            "my rent in {a} is lower than I ever expected",
            "it is very good value",
            "rooms there are inexpensive",
            "the prices there are reasonable",
            "you can buy there without a huge mortgage",
        ],
        "test": [
            "{a} is surprisingly affordable",
            "flats to rent in {a} are cheap and easy to find",
            "a small budget goes a long way in {a}",
            "{a} is ideal if you are short of cash",
            "you can rent a whole house in {a} for very little money",
            "first-time buyers can still afford {a}",
            "prices in {a} are low compared with the rest of the city",
            "the rent is a bargain",
            "it is cheap to live there",
            "you get a big flat for a reasonable price",
            "a night out there does not cost a lot",
            "the housing is good value",
            "it leaves you with plenty of money to spend on other things",
        ],
    },
    "-price": {
        "train": [
            "{a} is ridiculously expensive",
            "rents in {a} have gone through the roof",
            "you need a very fat salary to live in {a}",
            "nobody I know can afford {a} any more",
            "even a tiny studio in {a} costs a fortune",
            "{a} is far too pricey for a student",
            "house prices in {a} are out of reach for ordinary people",
            "you would pay well over the odds for a flat in {a}",
            "{a} is overpriced for what you get",
            "the landlords in {a} charge silly money",
            "buying in {a} means a mortgage for the rest of your life",
            "it is hard to find anything within a normal budget in {a}",
            "the rents there are brutal",
            "it costs an arm and a leg",
            "it is not cheap by any means",
            "you will be left with nothing after paying the rent",
            "prices there keep going up and up",
            "a one-bed there costs more than I earn",
            "the deposit alone will clean you out",
            "you pay a huge premium for the postcode",
            "flats there are shockingly dear",
            "you get very little space for your money",
            "the cost of living there is painful",
            "it would blow your budget",
        ],
        "dev": [
            "{a} is very expensive these days",
            "renting in {a} eats up most of my wages",
            "flats in {a} cost a bomb",
            "you will not find anything affordable in {a}",
            "{a} is beyond the means of most young people",
            "the prices there are crazy",
            "it is expensive to rent",
            "you would pay a lot for a shoebox",
            "few people on a normal salary can afford it",
        ],
        "test": [
            "{a} is seriously expensive",
            "prices in {a} are sky high",
            "we were priced out of {a} two years ago",
            "only rich people can afford a house in {a}",
            "a room in {a} costs far more than it should",
            "the rent in {a} is too much for my budget",
            "{a} charges a lot of money for not very much space",
            "the housing is overpriced",
            "the rents are painfully high",
            "you need a big salary to pay for it",
            "flats there cost a small fortune",
            "it is a very dear place to buy",
            "you pay through the nose for everything",
        ],
    },
    "+transit": {
        "train": [
            "{a} is really well connected",
            "you can be in the centre from {a} in ten minutes",
            "{a} has a tube station and half a dozen bus routes",
            "getting around from {a} is dead easy",
            "{a} is within walking distance of nearly everything",
            "there are night buses running straight through {a}",
            "my commute from {a} takes just a quarter of an hour",
            "{a} is right in the heart of the city",
            "trains from {a} run every few minutes",
            "{a} has excellent transport links",
            "you are never more than five minutes from a station in {a}",
            "{a} is perfectly placed for work in the centre",
            "the tube is on your doorstep",
            "it is very central",
            "the buses are frequent and reliable",
            "you can walk into town from there",
            "it is handy for the airport and the main stations",
            "you hardly need a car there",
            "there is a direct train into the middle of town",
            "it is only a short walk from the university",
            "it is only two stops from the business district",
            "the new line makes it quick to get anywhere",
            "cycling to work from there is a breeze",
            "it is easy to get to from all sides",
        ],
        "dev": [
            "{a} is so convenient for getting into town",
            "the transport in {a} is superb",
            "{a} is just a few stops from the centre",
            "it takes no time at all to reach the office from {a}",
            "you can catch a bus or a train in {a} at any hour",
            "it has great links to the rest of the city",
            "the station is two minutes away",
            "it is close to the middle of things",
            "the commute is short and easy",
        ],
        "test": [
            "{a} has very good public transport",
            "the trains from {a} are quick and frequent",
            "{a} is close to the centre",
            "you can walk to work from {a}",
            "three tube lines meet in {a}",
            "{a} could not be more central",
            "it is easy to travel anywhere from {a}",
            "the bus stops right outside your door",
            "it is well placed for the station",
            "you can reach the centre in a few minutes",
            "the transport links are brilliant",
            "it is a quick ride into town",
            "there are plenty of buses at night",
        ],
    },
    "-transit": {
        "train": [
            "{a} is miles from anywhere",
            "there is no tube anywhere near {a}",
            "getting into town from {a} takes well over an hour",
            "the buses to {a} hardly ever turn up",
            "{a} is badly connected",
            "you really need a car if you live in {a}",
            "{a} is a long way out of the city",
            "the trains from {a} are slow and packed",
            "you have to change twice to get anywhere from {a}",
            "transport in {a} is a nightmare",
            "the last train back to {a} leaves far too early",
            "commuting from {a} wore me out",
            "it is far too far out",
            "the nearest station is half an hour away on foot",
            "the commute is dreadful",
            "there is only one bus and it is always late",
            "it takes forever to get to the centre",
            "it is a pain to get to",
            "the line is forever breaking down",
            "you are cut off once the buses stop",
            "the traffic is at a standstill every morning",
            "public transport there is next to useless",
            "you will spend half your life travelling",
            "parking is impossible and the trains are no better",
        ],
        "dev": [
            "{a} is awkward to get to",
            "there are hardly any buses in {a} after ten",
            "{a} is too far from the centre",
            "the journey to work from {a} is long and tiring",
            "{a} has very poor transport links",
            "there is no station within walking distance",
            "it is a long way from everything",
            "the trains are always delayed",
            "it is hard to reach without a car",
        ],
        "test": [
            "{a} is a very long way from the centre",
            "public transport in {a} is terrible",
            "it takes more than an hour to commute from {a}",
            "{a} has no station of its own and few buses",
            "you are stuck in {a} if you do not drive",
            "the bus from {a} is slow and always late",
            "{a} is badly placed for anyone working in town",
            "it is too far away from the city",
            "the connections are poor",
            "the trains there are useless",
            "you need two buses to get anywhere",
            "the journey to the office takes forever",
            "it is out in the sticks",
        ],
    },
    "+safety": {
        "train": [
            "{a} is very safe",
            "I have never felt threatened in {a}",
            "you can walk home through {a} at midnight without a worry",
            "there is hardly any crime in {a}",
            "{a} is one of the safest areas in the city",
            "children play out in {a} without anyone fearing for them",
            "{a} feels secure even late at night",
            "women on their own are perfectly safe in {a}",
            "nobody I know has ever been robbed in {a}",
            "the streets of {a} are well lit and well policed",
            "burglaries are almost unheard of in {a}",
            "the gangs that used to trouble {a} have long gone",
            "it is a safe place after dark",
            "I never once had any trouble there",
            "you do not have to look over your shoulder there",
            "the crime rate is really low",
            "I always felt safe walking home",
            "the police keep a close eye on it",
            "you can leave your bike outside and nobody will steal it",
            "there are no gangs or anything like that",
            "I would let my daughter walk around there alone",
            "it is as safe as houses",
            "nobody was ever attacked or robbed there in my time",
            "the streets there are safe at all hours",
        ],
        "dev": [
            "{a} is a safe area to live in",
            "there is very little crime in {a}",
            "I feel quite secure in {a} at night",
            "you are unlikely to run into trouble in {a}",
            "walking round {a} alone has never worried me",
            "it is perfectly safe at night",
            "we never had a break-in",
            "crime is rare there",
            "you can walk about without fear",
        ],
        "test": [
            "{a} is really safe even for a woman alone",
            "crime in {a} is very low",
            "I have walked through {a} late at night and felt safe",
            "{a} is safe and well policed",
            "nobody gets mugged in {a}",
            "families feel secure in {a}",
            "there is no trouble on the streets of {a}",
            "it is a very safe place",
            "I was never afraid to walk home in the dark",
            "there are few burglaries",
            "the crime figures are among the lowest in the city",
            "you will not be bothered by gangs or thieves",
            "it feels safe at any time of day",
        ],
    },
    "-safety": {
        "train": [
            "{a} is not safe after dark",
            "there is a lot of crime in {a}",
            "I was mugged twice in {a}",
            "I would not walk through {a} alone at night",
            "gangs hang around every corner in {a}",
            "{a} is pretty rough",
            "you have to keep your wits about you in {a}",
            "there was another stabbing in {a} last month",
            "drug dealers work quite openly in {a}",
            "cars get broken into all the time in {a}",
            "{a} has a bad name for burglaries",
            "people get robbed in {a} in broad daylight",
            "it is a dangerous place at night",
            "the crime rate is frightening",
            "I never felt safe there",
            "there are too many dodgy characters about",
            "we were burgled within a month",
            "you should not carry your phone in your hand there",
            "there are fights outside the pubs every weekend",
            "my bike was stolen three times there",
            "some of the estates are no-go areas",
            "knife crime is a real problem there",
            "women get harassed on the way home",
            "it is dodgy once the shops are shut",
        ],
        "dev": [
            "{a} is a dangerous area",
            "there are a lot of muggings in {a}",
            "I felt unsafe every evening in {a}",
            "my car was broken into in {a}",
            "{a} has a serious gang problem",
            "the streets are not safe",
            "there is too much crime",
            "I was scared to go out at night",
            "it can get rough at weekends",
        ],
        "test": [
            "{a} is a rough area with plenty of crime",
            "you might get mugged in {a}",
            "I do not feel safe in {a} at night",
            "my flat in {a} was burgled",
            "there have been several stabbings in {a}",
            "{a} is dangerous if you are out late",
            "thieves and dealers hang around in {a}",
            "it is very unsafe at night",
            "there is a lot of violence on the streets",
            "you have to watch your back when walking home",
            "gangs cause trouble all the time",
            "the place is full of dodgy people",
            "people are robbed there every week",
        ],
    },
}

SINGLE = {
    "train": [
        ("do not touch {a} unless you have money to burn", "a-price"),
        ("try {a}, you will love it", "a+general"),
        ("avoid {a} after dark, that is all I can say, unless you like being followed home", "a-safety"),
        ("give {a} a miss, it is a hole", "a-general"),
        ("why anyone would want to live in {a} is beyond me", "a-general"),
        ("for a first flat on a tight budget, look no further than {a}", "a+price"),
        ("with two stations and a river bus, who could complain about getting to work from {a}", "a+transit"),
        ("what puts me off {a} is not the people, who are great, but the hour on the bus", "a+general a-transit"),
        ("cheap, cheerful and ten minutes from the centre: {a} has my vote", "a+price a+transit a+general"),
        ("expensive but worth every penny, {a} is simply gorgeous", "a-price a+general"),
        ("I sleep with a bat beside the bed in {a}, there are that many break-ins", "a-safety"),
        ("{a} is cheap for a reason: somebody is robbed outside the station most nights", "a+price a-safety"),
        ("it may not be pretty, but {a} is on three tube lines", "a-general a+transit"),
        ("safe, quiet streets and low rents, so {a} suits families on one income", "a+safety a+price"),
        ("{a} used to be affordable until the bankers arrived; now forget it", "a-price"),
        ("people say {a} is dangerous, but in ten years I have not seen a single incident", "a+safety"),
        ("they call {a} up and coming; I call it a slum", "a-general"),
        ("I turned down a job because the journey from {a} would have killed me", "a-transit"),
        ("my landlord in {a} put the rent up by a third, so be warned", "a-price"),
        ("{a} gets a bad press and none of it is deserved, I have a great life here", "a+general"),
        ("you could not pay me enough to go back to {a}", "a-general"),
        ("the night bus drops me at my door in {a}, which is a blessing", "a+transit"),
        ("keep your door locked and your phone hidden in {a}", "a-safety"),
        ("{a} has neither a tube nor a decent bus, yet they ask central prices", "a-transit a-price"),
        ("lively, friendly, full of good cafes - I miss {a} every day", "a+general"),
        ("wages in {a} are low but then so are the rents, thank goodness", "a+price"),
        ("no trouble in {a} at all, not even on a Saturday night when the pubs close", "a+safety"),
        ("handy as {a} is for the station, I would be scared to walk back from it", "a+transit a-safety"),
    ],
    "dev": [
        ("do yourself a favour and move to {a}, it is wonderful", "a+general"),
        ("stay out of {a} at night unless you want your wallet stolen", "a-safety"),
        ("if money is tight, {a} is the answer", "a+price"),
        ("who can pay that sort of rent in {a}, I wonder", "a-price"),
        ("boring and miles from a station, {a} did nothing for me", "a-general a-transit"),
        ("low crime, fast trains: {a} ticks both boxes", "a+safety a+transit"),
        ("the bus to {a} takes an age, so leave early", "a-transit"),
        ("for all its fancy prices, {a} is a charming spot", "a-price a+general"),
    ],
    "test": [
        ("go for {a}, it is a smashing place", "a+general"),
        ("forget {a} unless your parents are rich", "a-price"),
        ("hold on to your bag in {a}, there are thieves everywhere", "a-safety"),
        ("cheap but dangerous, that is {a} for you", "a+price a-safety"),
        ("with a station at each end of the road, {a} could hardly be handier", "a+transit"),
        ("safe as {a} is, I found it deadly dull", "a+safety a-general"),
        ("do not move to {a} if you have to commute, it takes hours", "a-transit"),
        ("I have never regretted moving to {a}", "a+general"),
        ("the low rent in {a} makes up for the slow trains", "a+price a-transit"),
        ("what a miserable, ugly place {a} is", "a-general"),
    ],
}

COMPARISON = {
    "train": [
        ("{a} is dearer than {b} but far better connected", "a-price b+price a+transit b-transit"),
        ("{a} is much safer than {b}", "a+safety b-safety"),
        ("{b} is cheaper than {a}, though you get what you pay for: it is a dump", "b+price a-price b-general"),
        ("I would take {a} over {b} any day of the week", "a+general b-general"),
        ("both {a} and {b} are very expensive", "a-price b-price"),
        ("{a} and {b} are both lovely places to live", "a+general b+general"),
        ("neither {a} nor {b} is safe at night", "a-safety b-safety"),
        ("we moved from {a} to {b} because we could not afford the rent any longer", "a-price b+price"),
        ("I left {a} for {b} after the second burglary and now sleep soundly", "a-safety b+safety"),
        ("{a} has the tube while {b} has one bus an hour, no contest", "a+transit b-transit"),
        ("if you cannot afford {a}, try {b}, it is half the price", "a-price b+price"),
        ("{b} is nice enough but {a} is nicer", "b+general a+general"),
        ("stay away from {a}, it is full of gangs; {b} is fine and nobody will bother you", "a-safety b+safety"),
        ("{a} is a bit further out than {b}, but the rents are so much lower", "a-transit b+transit a+price b-price"),
        ("the best thing about {a} is the fast train; what {b} has is cheap rent", "a+transit b+price"),
        ("{a} is boring, {b} is where everything happens", "a-general b+general"),
        ("I felt perfectly safe in {a} but would not go near {b} after dark", "a+safety b-safety"),
        ("unlike {a}, {b} has no station, which makes the commute a misery", "a+transit b-transit"),
        ("for the price of a garage in {a} you can have a whole house in {b}", "a-price b+price"),
        ("{a} is pricey; {b} is cheap but a little rough", "a-price b+price b-safety"),
        ("I rent in {b}, which is affordable, and go out in {a}, which is fantastic", "b+price a+general"),
        ("nobody is rude in {a}, which is more than I can say for {b}", "a+general b-general"),
        ("{a} and {b} are both easy to get to by train", "a+transit b+transit"),
        ("{a} is overrated; spend your time in {b} instead, which is gorgeous", "a-general b+general"),
        ("prices in {a} are as low as in {b}", "a+price b+price"),
        ("crime is down in {a} and up in {b}, so choose the first", "a+safety b-safety"),
        ("{a} costs more than {b} because it is so close to the centre", "a-price b+price a+transit"),
        ("I grew up in {a}, which was grim, and now live in {b}, which is a delight", "a-general b+general"),
        ("{a} is a stroll from my desk, whereas the trip from {b} is an hour each way", "a+transit b-transit"),
        ("{b} has a better feel than {a}, but you had better be rich", "b+general a-general b-price"),
        ("of the two, {a} is the safer and {b} the cheaper", "a+safety b-safety b+price a-price"),
        ("{a} is every bit as dangerous as {b}", "a-safety b-safety"),
        ("my flat in {a} cost a fortune and the one in {b} cost peanuts", "a-price b+price"),
        ("{a} is central but ugly; {b} is pretty but a nightmare to reach", "a+transit a-general b+general b-transit"),
        ("people in {a} keep to themselves, but the folk in {b} could not be kinder", "a-general b+general"),
        ("if safety matters to you, pick {a}; if money does, pick {b}", "a+safety b+price"),
        ("having tried both, I found {a} depressing and {b} a breath of fresh air", "a-general b+general"),
        ("the commute from {a} is a killer; from {b} you are at your desk in minutes", "a-transit b+transit"),
        ("I love {a}, I just wish it were as cheap as {b}", "a+general a-price b+price"),
        ("the trains are hopeless in {a} and no better in {b}", "a-transit b-transit"),
        ("students on a budget head for {a} because {b} is too dear", "a+price b-price"),
        ("{a} has fewer muggings than {b} these days", "a+safety b-safety"),
        ("{a} is my favourite, but {b} comes a close second", "a+general b+general"),
        ("go to {b} if you must, but {a} is a hundred times better", "a+general b-general"),
        ("the rent in {b} nearly ruined us, so now we are in {a}, miles from the office", "b-price a-transit"),
        ("{a} is handier for the centre than {b}, but far from safe at night", "a+transit b-transit a-safety"),
    ],
    "dev": [
        ("{a} is more expensive than {b} but a lot safer", "a-price b+price a+safety b-safety"),
        ("{b} is a nicer area than {a}", "b+general a-general"),
        ("I would choose {a} because {b} is too far from everything", "a+transit b-transit"),
        ("both {a} and {b} are cheap", "a+price b+price"),
        ("{a} is dodgy at night and {b} is not much better", "a-safety b-safety"),
        (
            "flats are cheaper in {a}, but the tube in {b} saves you an hour a day",
            "a+price b-price b+transit a-transit",
        ),
        ("{a} and {b} are great, you would like either", "a+general b+general"),
        ("{b} is perfectly safe, unlike {a}, where I was robbed", "b+safety a-safety"),
        ("we swapped {a} for {b} and halved our rent", "a-price b+price"),
        ("{a} is dreary; {b} is much nicer, but getting home from it is a trial", "a-general b+general b-transit"),
    ],
    "test": [
        ("{a} is cheaper than {b} but not as safe", "a+price b-price a-safety b+safety"),
        ("I prefer {a} to {b}", "a+general b-general"),
        ("{a} has better transport than {b}", "a+transit b-transit"),
        ("{a} and {b} are both overpriced", "a-price b-price"),
        ("you will be safe in either {a} or {b}", "a+safety b+safety"),
        ("{a} is a great place but expensive; {b} is dull but affordable", "a+general a-price b-general b+price"),
        ("there is more crime in {a} than in {b}", "a-safety b+safety"),
        ("{b} is close to town and {a} is miles out", "b+transit a-transit"),
        ("I hated {a} and was much happier in {b}", "a-general b+general"),
        ("rents are lower in {a}, but {b} is nearer the centre", "a+price b-price b+transit a-transit"),
        ("{a} is far nicer than {b}, which is a dirty, noisy place", "a+general b-general"),
        ("neither {a} nor {b} has a tube station, so expect a long journey", "a-transit b-transit"),
        ("{a} is lovely and so is {b}, but both will cost you", "a+general b+general a-price b-price"),
        ("friends told us to avoid {a} because of the gangs and look for a cheap flat in {b}", "a-safety b+price"),
    ],
}

# Questions, directions, plans and plain facts: an aspect may be named, nothing is judged.
SILENT = {
    "train": [
        "is {a} safe at night?",
        "does anyone know what the rents are like in {a}?",
        "how long does it take to get from {a} to the airport?",
        "I am moving to {a} in September and would like to meet people",
        "which bus should I take to {a} after midnight?",
        "has anybody lived in {a} recently?",
        "my grandmother was born in {a} in the thirties",
        "turn left at the church and keep going until you see the signs for {a}",
        "what is the postcode of {a}?",
        "we are viewing a flat in {a} on Saturday",
        "can somebody tell me if {a} is a nice area?",
        "the library in {a} closes at six on weekdays",
        "I have a job interview in {a} next Tuesday morning",
        "is there a swimming pool anywhere in {a}?",
        "my sister works for the council in {a}",
        "how much should I expect to pay for a one-bed flat in {a}?",
        "the borough of {a} was created when two older parishes were merged",
        "I passed through {a} on the way to a wedding",
        "do you mean the old part of {a} or the new one?",
        "would you feel happy walking through {a} on your own?",
        "there is a primary school and a dentist in {a}",
        "the film was partly shot in {a}, if I remember rightly",
        "what are people's thoughts on {a} as a place to bring up children?",
        "my parents ran a bakery in {a} for a while",
        "is it cheaper to buy a house or to rent one in {a}?",
        "I have been offered a room in {a} but have not seen it yet",
        "the market in {a} is held on Thursdays and Saturdays",
        "where can I park a van in {a} for two days?",
        "a friend of a friend is looking for a flatmate in {a}",
        "is {a} north or south of the river?",
        "they are holding a meeting about the new school in {a} on Monday",
        "what sort of budget do you have in mind for {a}?",
        "I will be in {a} next week, so let me know if you want to meet",
        "how far is {a} from the university?",
        "is the crime rate in {a} published anywhere?",
        "the name {a} comes from an old word for a ford",
        "somebody asked the same question about {a} last week",
        "it depends which end of {a} you mean",
        "is there a direct train to {a} or do I have to change?",
        "I was only in {a} for an afternoon, so I cannot really say",
        "you will find an estate agent opposite the post office in {a}",
        "has the new station in {a} opened yet?",
        "we used to visit an aunt in {a} at Christmas",
        "I am writing an essay about the history of {a}",
        "who do I call in {a} about a missing bin?",
        "did you end up taking the flat in {a}?",
        "the council has put the plans for {a} online",
        "my son starts school in {a} after the summer",
        "is {a} in zone 2 or zone 3?",
        "the number 12 goes from the hospital to {a} by way of the bridge",
        "does your deposit have to be paid before you move to {a}?",
        "about forty thousand people live in {a}",
        "were there any burglaries in {a} last year?",
        "could you post the address of the shop in {a}?",
        "should I live in {a} or {b}?",
        "is {a} closer to the centre than {b}?",
        "how do I get from {a} to {b} on a Sunday?",
        "we are looking at flats in {a} and {b}",
        "which is cheaper, {a} or {b}?",
        "the road from {a} to {b} is closed until Friday",
        "has anyone here lived in both {a} and {b}?",
        "I work in {a} and my partner works in {b}",
        "is {b} part of {a} or a borough of its own?",
        "the bus goes through {a} first and then on to {b}",
        "what is the difference between {a} and {b} for a young couple?",
        "my brother moved from {a} to {b} in the spring",
        "{a} borders on {b} to the east",
        "would you say that {a} is safer than {b}?",
        "I have viewings in {a} on Monday and in {b} on Tuesday",
        "do the night buses run between {a} and {b}?",
        "the canal runs from {a} down to {b}",
        "we met in {a} and got married in {b}",
    ],
    "dev": [
        "is {a} expensive?",
        "what is it like to live in {a}?",
        "I am thinking about moving to {a} with my girlfriend",
        "which station is nearest to {a}?",
        "my uncle had a garage in {a}",
        "the town hall of {a} was built in the twenties",
        "are there many burglaries in {a}?",
        "get off at the second stop after {a} and walk back",
        "our firm is opening an office in {a} this year",
        "do you have any photos of {a}?",
        "I have never been to {a}, so I am asking here",
        "the clinic in {a} opens at nine",
        "how often do the trains to {a} run?",
        "what rent did you pay when you were in {a}?",
        "shall we meet in {a} or in {b}?",
        "is the rent lower in {a} than in {b}?",
        "I will be living in {a} and studying in {b}",
        "{a} lies between {b} and the river",
        "which of {a} and {b} would you choose?",
        "she drove from {a} to {b} this morning",
    ],
    "test": [
        "is {a} a good place to live?",
        "are the streets of {a} safe for a woman on her own?",
        "what does a room in {a} cost per month?",
        "I start a course in {a} in January",
        "how do you get to {a} by train?",
        "we stayed in {a} with my aunt for a week",
        "the museum in {a} is shut on Mondays",
        "my new office is in {a}, on the third floor",
        "can anyone tell me more about {a}?",
        "follow the main road past the park and you come to {a}",
        "is there a tube station in {a}?",
        "he wrote a book about {a} some years ago",
        "I am meeting a landlord in {a} tomorrow",
        "what do people think of {a} these days?",
        "the football club has played in {a} since the war",
        "do I need a car in {a}?",
        "you asked the same about {a} in May",
        "a cousin of mine is looking for a house in {a}",
        "do you know how much crime there is in {a}?",
        "is {a} better than {b}?",
        "I am choosing between {a} and {b} and would like some advice",
        "how far is it from {a} to {b}?",
        "are rents higher in {a} or {b}?",
        "the train stops at {a} and then at {b}",
        "my parents live in {a} and my brother lives in {b}",
        "we walked from {a} to {b} along the river",
        "is there a bus between {a} and {b}?",
    ],
}


class Deck:
    """Deals its cards in a shuffled order and starts again when they run out, so that all are used about equally."""

    def __init__(self, cards: list | tuple, rng: random.Random):
        self.cards, self.rng, self.left = cards, rng, []

    def deal(self):
        if not self.left:
            # random() alone is promised to give the same numbers in every Python version; shuffle() is not.
            self.left = sorted(self.cards, key=lambda _: self.rng.random())
        return self.left.pop()


class Writer:
    """Composes the sentences of one split. A sentence is a text with {a}, {b} and its labels, such as "a+price"."""

    def __init__(self, split: str):
        self.split = split
        self.rng = random.Random(SEEDS[split])
        self.cells = Deck(CELLS, self.rng)
        self.glue = {name: Deck(cards, self.rng) for name, cards in GLUE.items()}
        self.naming, self.following = {}, {}
        for cell, clauses in CLAUSES.items():
            self.naming[cell] = Deck([c for c in clauses[split] if "{a}" in c], self.rng)
            self.following[cell] = Deck([c for c in clauses[split] if "{a}" not in c], self.rng)
        self.whole_single = Deck(SINGLE[split], self.rng)
        self.whole_comparison = Deck(COMPARISON[split], self.rng)
        self.whole_silent = Deck(SILENT[split], self.rng)

    def other_cell(self, cell: str) -> str:
        while (other := self.cells.deal())[1:] == cell[1:]:
            pass
        return other

    def statement(self, cell: str) -> str:
        if self.rng.random() < 0.3:
            return self.glue["topic"].deal() + self.following[cell].deal()
        return self.glue["opener"].deal() + self.naming[cell].deal()

    def one(self) -> tuple[str, list[str]]:
        """One clause about one place."""
        cell = self.cells.deal()
        return self.statement(cell) + self.glue["closing"].deal(), [f"a{cell}"]

    def two(self) -> tuple[str, list[str]]:
        """Two clauses on two aspects of one place, agreeing or not."""
        first = self.cells.deal()
        second = self.other_cell(first)
        link = self.glue["agree" if first[0] == second[0] else "differ"].deal()
        return self.statement(first) + link + self.following[second].deal(), [f"a{first}", f"a{second}"]

    def single(self) -> tuple[str, list[str]]:
        """A whole sentence about one place."""
        text, labels = self.whole_single.deal()
        return text, labels.split()

    def contrast(self) -> tuple[str, list[str]]:
        """A clause about each of two places, or about one of them beside a place the speaker does not judge."""
        first, second = self.cells.deal(), self.cells.deal()
        if self.rng.random() < 0.3:
            return self.glue["no_view"].deal() + self.naming[first].deal(), [f"a{first}"]
        if self.rng.random() < 0.5:
            second = ("-" if first[0] == "+" else "+") + first[1:]
        link = self.glue["agree_other" if first[0] == second[0] else "differ_other"].deal()
        text = self.glue["opener"].deal() + self.naming[first].deal() + link
        return text + self.naming[second].deal().replace("{a}", "{b}"), [f"a{first}", f"b{second}"]

    def comparison(self) -> tuple[str, list[str]]:
        """A whole sentence about two places."""
        text, labels = self.whole_comparison.deal()
        return text, labels.split()

    def silent(self) -> tuple[str, list[str]]:
        """A whole sentence about one or two places that holds no opinion."""
        return self.glue["greeting"].deal() + self.whole_silent.deal(), []

    def finished(self, text: str, labels: list[str]) -> dict:
        places = {"a": "LOCATION1", "b": "LOCATION2"}
        if "{b}" in text and self.rng.random() < 0.5:
            places = {"a": "LOCATION2", "b": "LOCATION1"}
        if not text.endswith("?"):
            text += self.glue["stop"].deal()
        text = re.sub(r"(?:^|(?<=[.?!] ))[a-z]", lambda match: match[0].upper(), text)
        opinions = [
            {"sentiment": SENTIMENTS[label[1]], "target_entity": places[label[0]], "aspect": ASPECTS[label[2:]]}
            for label in labels
        ]
        opinions.sort(key=lambda opinion: (opinion["target_entity"], opinion["aspect"]))
        return {"text": text.format(**places), "opinions": opinions}

    def corpus(self) -> list[dict]:
        """The split's sentences, in SentiHood's form: id, text, opinions."""
        written = {}
        for kind, count in PLAN[self.split].items():
            wanted = len(written) + count
            while len(written) < wanted:
                sentence = self.finished(*getattr(self, kind)())
                if MIN_WORDS <= len(sentence["text"].split()) <= MAX_WORDS:
                    written.setdefault(sentence["text"].rstrip("."), sentence)
        shuffled = Deck(list(written.values()), self.rng)
        return [{"id": number, **shuffled.deal()} for number in range(1, len(written) + 1)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--output_dir",
        type=Path,
        default=Path(__file__).parent,
        help="existing folder to write to (default: that of this file)",
    )
    output_dir = parser.parse_args().output_dir
    for split in SEEDS:
        text = json.dumps(Writer(split).corpus(), indent=4) + "\n"
        (output_dir / f"sentihood-{split}.json").write_text(text, encoding="ascii", newline="\n")


if __name__ == "__main__":
    main()
