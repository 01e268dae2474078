"""Word lists: speakers, headphones of three kinds, radios."""

from environments.shop.lexicon.shelf import shelf

_COLORS = "Black; White; Navy; Slate Gray; Rose; Sage Green; Sand; Red; Sky Blue"

SHELVES = {
    "Speakers": shelf(
        brands="""Corvane; Auralis Works; Tonehouse; Brassfield Audio; Hertz & Hollow; Lowland Sound;
            Kestrel Acoustics; Murmur; Stagelight; Veldt Audio; Oakwave; Sonder & Co.""",
        heads="""{brand} {model} {kind}, {power}, {color}; {brand} {model} {kind} with {feature}, {color};
            {brand} {power} {kind}, {driver} Driver, {color}; {brand} {model} {driver} {kind} ({color})""",
        tails="""{feature}; Deep Bass; Bluetooth {bluetooth}; for {place}; {driver} Woofer; Wall
            Mountable; Remote Control Included; Stereo Pairing; Optical and AUX Inputs; Clear Dialog Mode;
            Silk Dome Tweeter""",
        words={
            "kind": """Bookshelf Speakers; Tower Speaker; Soundbar; Portable Bluetooth Speaker; Subwoofer;
                Center Channel Speaker; In-Ceiling Speakers; Outdoor Speakers; Studio Monitors; Computer
                Speakers""",
            "color": "Black; White; Walnut; Graphite; Cherry; Ash; Blue",
            "feature": """Voice Assistant; Built-in Amplifier; LED Lights; IPX7 Waterproof Housing;
                Multi-Room Audio; Wireless Subwoofer; Passive Radiator""",
            "bluetooth": "4.2; 5.0; 5.1; 5.2; 5.3",
            "place": "Home Theater; Desk; Patio; Kitchen; Vinyl Setup; Parties; Garage",
            "model": "C3; M40; Arden; T-220; Loft 5; R7; Pivot; SX-10; Bay 80; Ridge",
        },
        grades={
            "power": "5 W; 10 W; 20 W; 40 W; 60 W; 100 W; 150 W; 200 W; 300 W; 500 W; 800 W",
            "driver": '2"; 2.5"; 3"; 4"; 5.25"; 6.5"; 8"; 10"; 12"; 15"',
        },
        options={"Color": "color"},
        details={
            "Speaker Type": "{kind}",
            "Maximum Output": "{power}",
            "Color": "{color}",
            "Driver": "{driver}",
            "Bluetooth": "{bluetooth}",
        },
        bullets="""{power} of clean output through a {driver} driver; {feature} built in, no further box
            needed; Made for {place}; Bluetooth {bluetooth} beside wired inputs; Cabinet braced inside and
            finished in {color}; Tone controls for bass and treble on the back; Designed by {brand} with a
            two year warranty""",
        aspects="sound; bass; build; setup; connection; size",
    ),
    "Earbud Headphones": shelf(
        brands="""Pebblewave; Orbi Tune; Nubud; Tweeter Jay; Whisp; Echo Fennel; Clipper Audio; Sonnet;
            Hummock; Lyrebud; Quillon; Dapple""",
        heads="""{brand} {model} {link} Earbuds, {color}; {brand} {link} Earbuds with {feature}, {color};
            {brand} {model} {link} In-Ear Headphones, {battery} Playtime, {color}; {brand} {feature}
            Earbuds, {link}, {color}""",
        tails="""{feature}; {battery} Playtime with Case; Bluetooth {bluetooth}; {water} Waterproof; for
            {place}; Built-in Microphones; Touch Control; USB-C Charging Case; Deep Bass; Three Sizes of
            Ear Tips; Light and Comfortable Fit""",
        words={
            "link": "True Wireless; Wired; Neckband Wireless; Sport Wireless; USB-C Wired",
            "color": _COLORS,
            "feature": """Active Noise Canceling; Transparency Mode; Ear Hooks; Inline Microphone; Low
                Latency Mode; Dual Drivers; Clear Calls""",
            "bluetooth": "5.0; 5.1; 5.2; 5.3",
            "water": "IPX4; IPX5; IPX7; IPX8",
            "place": "Running; the Gym; Commuting; Work Calls; Study; Sleeping; Travel",
            "model": "Mini; S2; Air 4; Drift; P30; Kite; Halo 2; B1; Loop; Nimbus",
        },
        grades={"battery": "8 Hour; 12 Hour; 20 Hour; 24 Hour; 30 Hour; 36 Hour; 42 Hour; 48 Hour; 60 Hour"},
        options={"Color": "color"},
        details={
            "Connection": "{link}",
            "Battery Life": "{battery}",
            "Color": "{color}",
            "Water Rating": "{water}",
            "Bluetooth": "{bluetooth}",
        },
        bullets="""{link} earbuds with {feature}; {battery} playtime together with the case; {water}
            rating against sweat and rain; Bluetooth {bluetooth} pairs in a few seconds; Soft tips in
            three sizes for {place}; Two microphones per side keep calls clear; {brand} adds a spare pair
            of tips in {color}""",
        aspects="sound; fit; battery; microphone; connection; case",
    ),
    "Over-Ear Headphones": shelf(
        brands="""Marlowe Audio; Cavern & Co.; Halcyne; Old Signal; Tundra Sound; Monarch Ear; Studio
            Pell; Resonant Oak; Vesper; Bassline Row; Cumulus; Arcadia Tone""",
        heads="""{brand} {model} {link} Over-Ear Headphones, {color}; {brand} {model} {feature}
            Headphones, {link}, {color}; {brand} {link} Over-Ear Headphones with {feature}, {battery},
            {color}; {brand} {model} {use} Headphones, {driver} Drivers, {color}""",
        tails="""{feature}; {battery} Playtime; Memory Foam Ear Cups; Foldable with Carry Case; for
            {place}; {driver} Drivers; Bluetooth {bluetooth}; Detachable Cable; Soft Protein Leather;
            Built-in Microphone; Deep Bass; Lightweight Headband""",
        words={
            "link": "Wireless; Wired; Bluetooth; Wireless and Wired; USB",
            "color": _COLORS,
            "feature": """Active Noise Canceling; Open Back; Closed Back; Boom Microphone; Hi-Res Audio;
                Ambient Mode; Low Latency Mode""",
            "use": "Studio Monitor; Gaming; Travel; DJ; Home Office; Audiophile",
            "bluetooth": "5.0; 5.1; 5.2; 5.3",
            "driver": "40 mm; 50 mm; 30 mm; 45 mm; 53 mm",
            "place": "Travel; Work; TV; Recording; Gaming; Commuting; School",
            "model": "H7; Atlas; M50; Quiet One; Summit; 880; Terra; V3; Ensemble; Plume",
        },
        grades={"battery": "15 Hour; 20 Hour; 25 Hour; 30 Hour; 40 Hour; 50 Hour; 60 Hour; 80 Hour"},
        options={"Color": "color"},
        details={
            "Connection": "{link}",
            "Battery Life": "{battery}",
            "Color": "{color}",
            "Driver": "{driver}",
            "Use": "{use}",
        },
        bullets="""{driver} drivers tuned for voices and low notes alike; {feature} for {place}; {battery}
            playtime on one charge; {link} connection with Bluetooth {bluetooth}; Memory foam cushions in
            {color} that can be replaced; Folds flat into the case that comes with it; {brand} offers
            spare parts for five years""",
        aspects="sound; comfort; battery; build; microphone; noise canceling",
    ),
    "On-Ear Headphones": shelf(
        brands="""Tinder Tone; Penny Whistle; Jollycap; Blokk Audio; Rowan Beat; Meadow Lark; Cityloop;
            Fable Sound; Skipper; Nonstop; Treble Hook; Paperkite""",
        heads="""{brand} {model} {link} On-Ear Headphones, {color}; {brand} {user} {link} Headphones with
            {feature}, {color}; {brand} {model} Foldable On-Ear Headphones, {battery}, {color}; {brand}
            {link} On-Ear Headset with {feature}, {color}""",
        tails="""{feature}; {battery} Playtime; Adjustable Headband; for {place}; Soft Ear Pads; Bluetooth
            {bluetooth}; Foldable Design; Built-in Microphone; Tangle Free Cable; 3.5 mm Jack; Lightweight
            at 5 oz""",
        words={
            "link": "Wireless; Wired; Bluetooth; USB; Wireless and Wired",
            "color": _COLORS,
            "feature": """Volume Limiter; Noise Isolation; Inline Remote; Boom Microphone; Audio Sharing
                Port; Memory Card Slot; Mute Button""",
            "bluetooth": "4.2; 5.0; 5.1; 5.3",
            "user": "Kids; Teens; Call Center; Home Office; Classroom; Travel",
            "place": "School; Tablet and PC; Calls; Airplanes; Study; Walks",
            "model": "K1; Bounce; Go 2; Petal; L10; Junior; Echo 3; Stack",
        },
        grades={"battery": "10 Hour; 15 Hour; 20 Hour; 30 Hour; 40 Hour; 50 Hour"},
        options={"Color": "color"},
        details={
            "Connection": "{link}",
            "Battery Life": "{battery}",
            "Color": "{color}",
            "For": "{user}",
            "Bluetooth": "{bluetooth}",
        },
        bullets="""{link} on-ear headphones with {feature}; {battery} playtime between charges; Made for
            {user} and {place}; Headband adjusts in eight steps; Soft {color} ear pads that come off for
            cleaning; Folds small enough for a coat pocket; {brand} puts a cable and a pouch in the box""",
        aspects="sound; comfort; battery; build; microphone; volume",
    ),
    "Radios": shelf(
        brands="""Beacon Hill Radio; Longwave; Tuneby; Signal Barn; Harrow & Dial; Airfield; Static Fox;
            Copperline; Nightwatch; Transista; Marconelle; Skywave Lodge""",
        heads="""{brand} {model} {bands} {kind}, {color}; {brand} {kind} with {feature}, {bands}, {color};
            {brand} {bands} {kind}, {power} Powered, {color}; {brand} {model} {style} {kind} with
            {feature}, {color}""",
        tails="""{feature}; {bands} Reception; {power} Powered; for {place}; Large Backlit Display;
            Telescopic Antenna; Headphone Jack; {presets} Presets; Bluetooth Playback; Loud Clear Speaker;
            Simple Rotary Dial""",
        words={
            "bands": "AM/FM; AM/FM/SW; DAB+/FM; AM/FM/NOAA; FM",
            "kind": """Portable Radio; Clock Radio; Emergency Radio; Tabletop Radio; Pocket Radio; Shower
                Radio; Jobsite Radio; Internet Radio""",
            "power": "Battery; Solar and Hand Crank; Mains; USB; Rechargeable",
            "color": "Black; Cream; Red; Olive; Walnut; Silver; Teal",
            "feature": """Sleep Timer; Flashlight; Dual Alarm; Bluetooth; Phone Charging Port; Auto Scan;
                Weather Alerts""",
            "presets": "10; 20; 25; 40; 60",
            "place": "Camping; the Kitchen; Storms and Outages; the Workshop; Bedside; the Garden",
            "style": "Retro; Compact; Rugged; Wooden; Digital; Classic",
            "model": "R12; Dawn; T-60; Drifter; Pocket 2; Lodge; W9",
        },
        grades={"size": "4 in; 5 in; 6 in; 8 in; 10 in; 13 in"},
        options={"Color": "color"},
        details={
            "Bands": "{bands}",
            "Power Source": "{power}",
            "Color": "{color}",
            "Presets": "{presets}",
            "Width": "{size}",
        },
        bullets="""{bands} reception with {presets} presets; {power} powered, for {place}; {feature} built
            in; {style} case in {color}, {size} wide; Speaker tuned for speech, so that news stays clear;
            Antenna turns and folds away; {brand} prints the manual in large type""",
        aspects="reception; sound; battery; display; build; size",
    ),
}
