"""Data that may not be redistributed, recognised by its texts without holding one of them."""

import hashlib
from collections.abc import Iterable

# Of each data set the 48 smallest digests of its texts: of any tenth of the texts about five are among them. SemEval's
# restaurants of 2016 contain most of those of 2015, and both some of 2014.
SMALLEST_DIGESTS = {
    "SentiHood": """
        0005267e3a4bda3d 00162a0affce317e 001df62839d0308f 0025eecfe7318568 0033d4ba78fde13f 003ed90cbe6bf76d
        004aeefe47d9160f 00656e43b5939329 006a0c2c1990b5f6 0071ed79c06beab5 0076c18bd71c6b62 008cf976493239be
        00905c61e1f3a63b 00916159400cc3e6 00a179a3188ccee1 00a185c60c571249 00a1ee8bf76d8c41 00a28edcde969874
        00a9b2b061be7a78 00ab7a9d2c747910 00b017ecec78aac0 00b615849758244f 00c582ab944f579c 00f84e55019d6a2b
        011f0517a572d79d 012cd8a9df2be2f6 014e41c6ec4740df 015515f06c1f2cea 016246170694f6fa 0163bb3d9ab7ab05
        0176a032fd7851cd 017c96b272a0a374 0180147f8d5f615d 019140fb04b4795d 0193de740100e5b1 01c047a174699712
        01eb71cad032a58e 01f12ad06f500596 020b4c6faa30788b 020b8e8acfd733be 020e53f5c458eea1 02181e2a359a989f
        021d7545736c6699 0229580817d38f6a 022ea1e0e12e2f09 0257d2d47e5d4835 025af6ee30190f01 027e381445da4e7b
    """,
    "SemEval-2014": """
        0012f93f2285024d 0014be2b4db0d15e 0026e1f6195a1419 003cc8220bbdbe3c 0049595a5cdaabf4 00595c14d24d521d
        005d718c4cb73bae 006947a76fc9bfd8 008024bb797e2e97 00a8b8dc0dcf54a1 00aac8f9789da44d 010fc944cb056b55
        0130a5130c9c63c1 014993e892d71008 014d56d6e302cae9 015485b40e72f7ce 016250bd93944ab9 016ea4506b99e36b
        016f6d1f5946110a 0175ecc4194d1a18 01828a51d5945f9f 01c296011849df9b 01e85900a3fe5a08 01f850889c9adb18
        021acf770e3c4633 0236d7330db71843 02486a52367983cb 02510b77901280fb 02549019cef9ca9b 025543b6cd028d32
        026d960878caed3d 028f4a061818d4a4 02aeda674aef34c7 02afe935ae3a9d36 02b7f032dba56057 02bbaa98afaed1aa
        02be9155fa2729ce 02f3d034c58853bb 030237e43639f50b 033486dc0c19e65e 03595dec31e78a44 037ae953cfbd7595
        037ef7974ebc424a 039a21d1ddfc1d5f 03aace89a9d380da 03b1dca0c101e44a 03b52eafaaf17949 03c412bed181c486
    """,
    "SemEval-2014 (laptops)": """
        00001a6108025f48 00035f8407b937a3 001efc2c532e4948 0036503ff086474c 00413445bc553d23 004a575997526185
        005aa65f2fdbea52 0062004416fdb109 00847f09575d8858 008a27ea49c144d1 008c68a12d73d8ae 009213ffa1fd6157
        00a4ad7344c6f504 00ad12793c8e310f 00bf219f8db30074 00cf4ba06c636fec 00cff9c4dd659237 01036a30431b4cbe
        0113fe4e1ff6e8f6 01153c3a1e4a775e 0134c8496e778c00 0153abe63d65f4e5 0173b93b8ec922ac 017b87c03df107c9
        01824297d0b72d13 018a9f062097c6f4 019de295c7bdb966 01aa63fa84ce540e 01d0b4818f567a28 01e32fd522807f45
        01eb1fed7b35c891 01fbdd2bff50928c 0204538c5050e407 0205b06824d76ea1 0205ceb05f2e8a48 020d75559b91df88
        020ffe9944d6e726 0212e5b707af5fab 0225ca397d86b216 02301431836be06a 02736cdf61f92e0c 028e4725eeec3065
        0293346645899f10 02df41cd69a4b744 02e83c47941ce6b3 0307ceab0368c682 031fa0106eb1fd27 0367b2c18ea3d086
    """,
    "SemEval-2016": """
        0012f93f2285024d 001d6695eef4f8a5 001e93dd2c7a476a 0045f9b38a3252e3 005d718c4cb73bae 005d9c35960311db
        0062522f8162f9d1 008024bb797e2e97 00a8b8dc0dcf54a1 00aac8f9789da44d 00b19b273c663ff5 00d89e52b7199fb4
        0175ecc4194d1a18 018b9f0309261b3d 018c619a23abeddb 01a31fd9bf35cc1d 01ad4d9a0dd908c7 01b667061bbe47b9
        01bfd6135b524a64 01c0c0e740ff0598 020568ec151b57ec 02150014c445e3ad 0289d10e43e8b468 02c5f26253c19186
        02f69d44ee5edf19 03042062e4873ae1 0343650ad95af5b7 038f5c50678b5d10 039a21d1ddfc1d5f 03dbcf459b9ba4d1
        03ed63bbc4016b80 040cb5452e04289f 043912eb34cafa3f 04540e3f9f349dd5 0454cc225ea44e11 04695fb20a57cc18
        047cf64e7b0375e4 048462183b9531fa 0488a577ed73dcf7 04c4e8d7194f9d5c 04ca1d330682cbd5 0513eefd3f3bbbe5
        05396c46bd829703 053e2e51af7ff8fe 053f31ed89fd5601 0540f02b07bd8716 0554108e711b208f 05576601cff8c404
    """,
    "SemEval-2015": """
        0012f93f2285024d 001e93dd2c7a476a 0045f9b38a3252e3 005d718c4cb73bae 005d9c35960311db 0062522f8162f9d1
        008024bb797e2e97 00a8b8dc0dcf54a1 00aac8f9789da44d 0175ecc4194d1a18 018b9f0309261b3d 018c619a23abeddb
        01ad4d9a0dd908c7 01bfd6135b524a64 02150014c445e3ad 039a21d1ddfc1d5f 03ed63bbc4016b80 040cb5452e04289f
        043912eb34cafa3f 04540e3f9f349dd5 0454cc225ea44e11 04695fb20a57cc18 047cf64e7b0375e4 048462183b9531fa
        0488a577ed73dcf7 04ca1d330682cbd5 0513eefd3f3bbbe5 053e2e51af7ff8fe 053f31ed89fd5601 0554108e711b208f
        05576601cff8c404 059734e3fc68c539 0628d363438707c4 068a4e77c398242c 06a515bdb266b976 06d65ba0e2dba4c4
        06d9a39c742cbe34 0752cdc8d835ce75 0765dfc31de4ce85 076e3f52f60b5e3c 0777f682954bb381 079045e21bb582ac
        07a00e6bda635b4d 07a8c8e0ba2dad94 07eae364c32cf2f0 07f9959208702b47 08036de6fd3f041e 081555615617942b
    """,
}
SHORTEST = 24  # letters and digits; shorter texts, such as "Highly recommended!", stand in other data too
THRESHOLD = 2  # texts in common


def digest(text: str) -> str | None:
    """64 bits of a text, in hexadecimal, which cases, blanks and punctuation do not change; None for a short one.

    So it is that of the text's tokens too, however they were cut.
    """
    letters = "".join(filter(str.isalnum, text.casefold()))
    return hashlib.sha256(letters.encode()).hexdigest()[:16] if len(letters) >= SHORTEST else None


def restricted_source(texts: Iterable[str]) -> str | None:
    """The data set without a licence to redistribute that some texts come from; None for others."""
    digests = {digest(text) for text in texts}
    in_common = {name: len(digests.intersection(smallest.split())) for name, smallest in SMALLEST_DIGESTS.items()}
    source = max(in_common, key=in_common.get)
    return source if in_common[source] >= THRESHOLD else None
