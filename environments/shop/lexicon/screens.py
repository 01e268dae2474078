"""Word lists: televisions, video projectors, virtual reality headsets, cell phones, smartwatches."""

from environments.shop.lexicon.shelf import shelf

SHELVES = {
    "Televisions": shelf(
        brands="""Vistelle; Panelight; Grandview House; Chromalis; Hearthscreen; Lumenroy; Skyline Vision;
            Telmark; Nightglass; Aurelle; Broadacre; Pixelworth""",
        heads="""{brand} {size} Class {resolution} {panel} TV, {model}; {brand} {size} {panel}
            {resolution} Smart TV with {feature}; {brand} {model} Series {size} {resolution} TV; {brand}
            {size} {resolution} {panel} Television, {color}""",
        tails="""{feature}; {hdmi} HDMI Ports; {rate} Refresh Rate; Slim Bezel; Wall Mountable; Voice
            Remote; Surround Sound; for {place}; Game Mode; Screen Mirroring; Energy Saving Panel; Optical
            Audio Out""",
        words={
            "panel": "LED; QLED; OLED; Mini LED; LCD",
            "feature": """Built-in Streaming; HDR10; Wide Viewing Angle; Voice Control; Two Way Bluetooth;
                DVD Player; 12 V Adapter""",
            "hdmi": "2; 3; 4",
            "rate": "60 Hz; 75 Hz; 120 Hz; 144 Hz",
            "place": "Living Rooms; Kitchens; Bedrooms; RVs and Boats; Covered Patios; Offices",
            "color": "Black; Silver; White; Graphite",
            "model": "A6; N80; Vivid; U7; Frame; Q60; S3; E19",
        },
        grades={
            "size": '15.6"; 19"; 24"; 28"; 32"; 40"; 43"; 50"; 55"; 65"; 75"; 85"',
            "resolution": "720p; 720p; 1080p; 1080p; 4K UHD; 4K UHD; 4K UHD; 8K UHD",
        },
        options={"Size": "size"},
        details={
            "Screen Size": "{size}",
            "Resolution": "{resolution}",
            "Display": "{panel}",
            "Refresh Rate": "{rate}",
            "HDMI Ports": "{hdmi}",
        },
        bullets="""{size} {panel} panel with {resolution} resolution; {feature} without another box;
            {hdmi} HDMI ports and {rate} refresh; At home in {place}; Stand feet set at two widths for
            narrow tables; Picture presets for films, sport and games; {brand} supplies a remote with
            large, lit buttons""",
        aspects="picture; sound; setup; remote; stand; smart features",
    ),
    "Video Projectors": shelf(
        brands="""Beamhaus; Lanternfield; Cinevale; Wallcaster; Projecta Nova; Reel & Ray; Photonest;
            Brightloft; Marquee Mini; Luxgate; Silverscreen Co.; Throwline""",
        heads="""{brand} {model} {resolution} Projector, {lumens}; {brand} {kind} Projector with
            {feature}, {resolution}, {lumens}; {brand} {lumens} {kind} Projector, {resolution}, {color};
            {brand} {model} {kind} {resolution} Projector with {feature}""",
        tails="""{feature}; Up to {screen} Screen; {link}; for {place}; Built-in Speaker; Keystone
            Correction; Carry Bag Included; HDMI and USB; Quiet Fan; LED Lamp Rated for {hours} Hours;
            Tripod Thread""",
        words={
            "kind": "Portable; Mini; Home Theater; Short Throw; Business; Outdoor; Laser; Ceiling Mount",
            "feature": """Auto Focus; Wi-Fi Mirroring; Bluetooth Audio; Built-in Apps; Zoom Lens;
                Rechargeable Battery; Electronic Keystone""",
            "link": """Wi-Fi and Bluetooth; HDMI, USB and AV; Wireless Mirroring; USB-C Display; VGA and
                HDMI""",
            "screen": '120"; 150"; 200"; 250"; 300"',
            "hours": "20,000; 30,000; 50,000; 60,000",
            "place": "Movie Nights; Classrooms; Meetings; Backyards; Gaming; Bedrooms",
            "color": "White; Black; Gray; Sand",
            "model": "P6; Glow; V600; Cube; XR-4; Atlas; M2; Duo 8",
        },
        grades={
            "lumens": """60 Lumens; 120 Lumens; 200 Lumens; 350 Lumens; 600 Lumens; 1,200 Lumens; 2,500
                Lumens; 3,600 Lumens; 4,500 Lumens; 6,200 Lumens""",
            "resolution": "480p; 480p; 720p; 720p; 1080p; 1080p; WUXGA; 4K UHD",
        },
        options={"Color": "color"},
        details={
            "Brightness": "{lumens}",
            "Native Resolution": "{resolution}",
            "Color": "{color}",
            "Connections": "{link}",
            "Lamp Life": "{hours} hours",
        },
        bullets="""{lumens} and {resolution} native resolution; {feature} so that it is set up in a
            minute; Pictures up to {screen} for {place}; {link}; The lamp is rated for {hours} hours; Fan
            below 30 dB, measured at one meter; {brand} packs a remote, a cable and a cleaning cloth""",
        aspects="picture; brightness; fan noise; setup; sound; focus",
    ),
    "Virtual Reality (VR) Headsets": shelf(
        brands="""Otherwhere; Visorium; Deepfield; Parallax Room; Holomere; Immersa; Lucid Lantern;
            Farsight Labs; Dreamvisor; Roomscape; Mirador XR; Wide Awake""",
        heads="""{brand} {model} VR Headset for {device}, {color}; {brand} {kind} with {feature}, {color};
            {brand} {model} {kind} for {device}; {brand} {view} VR Goggles with {feature} for {device},
            {color}""",
        tails="""{feature}; {view} Field of View; Adjustable Lenses; for {use}; Soft Face Foam; Remote
            Control Included; Fits Over Glasses; Lightweight Strap; Anti-Blue Light Lenses; Headphone
            Port; Cooling Vents""",
        words={
            "kind": """VR Headset; VR Goggles; Standalone VR Headset; VR Viewer; 3D Glasses; VR Head
                Strap; VR Controller Grips""",
            "device": """Phones from 4.7 to 6.7 in; PC; Slim Phones; Game Consoles; All Large Phones;
                Standalone Use""",
            "feature": """Eye Distance Dial; Built-in Headphones; Bluetooth Remote; Hand Tracking; Focus
                Adjustment; Replaceable Face Cover; Magnetic Trigger""",
            "view": "90°; 96°; 100°; 105°; 110°; 120°",
            "use": "Films and Games; Fitness; Kids and Adults; Travel Videos; Learning; Flight Simulators",
            "color": "Black; White; Gray; Blue; Pink",
            "model": "V1; Drift; X5; Window; Pro 2; Zero; S8",
        },
        grades={
            "display": """Phone Display; Phone Display; Phone Display; 1440 x 1600; 1832 x 1920; 2160 x
                2160; 2448 x 2448""",
        },
        options={"Color": "color"},
        details={
            "Type": "{kind}",
            "Works With": "{device}",
            "Color": "{color}",
            "Field of View": "{view}",
            "Display": "{display}",
        },
        bullets="""{kind} with a {view} field of view; Works with {device}; {feature} for a sharper image;
            {use}, seated or standing; Three point strap spreads the weight; Foam cushion comes off and
            can be washed; {brand} lists good first apps in the guide""",
        aspects="comfort; picture; fit; lenses; strap; setup",
    ),
    "Cell Phones": shelf(
        brands="""Fonora; Kitefin; Palmetto Mobile; Lumen Cell; Ringwell; Sable Mobile; Calla; Northcall;
            Handset House; Zentaur; Birchphone; Ovalis""",
        heads="""{brand} {model} {storage} Unlocked Smartphone, {color}; {brand} {model}, {screen}
            Display, {storage}, {color}; {brand} {model} {network} Phone, {storage}, {camera} Camera,
            {color}; {brand} {kind} with {feature}, {storage}, {color}""",
        tails="""{feature}; {camera} Camera; {screen} Screen; {network} for Most Carriers; Dual SIM;
            {battery} Battery; Fast Charging; Fingerprint Reader; Renewed and Tested; Large Buttons;
            Charger Included""",
        words={
            "kind": """Senior Flip Phone; Rugged Smartphone; Big Screen Smartphone; Compact Smartphone;
                Feature Phone""",
            "color": "Midnight; Silver; Coral; Forest Green; Blue; Lavender; White",
            "network": "4G LTE; 5G; GSM and CDMA; 4G VoLTE",
            "feature": """Face Unlock; Waterproof Body; Wireless Charging; SOS Button; NFC; Expandable
                Memory; Night Camera""",
            "screen": '2.8"; 5.5"; 6.1"; 6.4"; 6.5"; 6.7"',
            "battery": "2500 mAh; 3000 mAh; 4000 mAh; 4500 mAh; 5000 mAh",
            "model": "A20; Note 4; One 7; X10; Mini 3; G Play; Edge 5; P30; S8; Terra",
        },
        grades={
            "storage": "4 GB; 16 GB; 32 GB; 64 GB; 128 GB; 256 GB; 512 GB",
            "camera": "2 MP; 8 MP; 12 MP; 13 MP; 48 MP; 50 MP; 64 MP; 108 MP",
        },
        options={"Color": "color", "Size": "storage"},
        details={
            "Model": "{model}",
            "Storage": "{storage}",
            "Color": "{color}",
            "Screen": "{screen}",
            "Network": "{network}",
            "Battery": "{battery}",
        },
        bullets="""{screen} display and {storage} of storage; {camera} main camera with night mode;
            {battery} battery for a full day; Unlocked for {network} networks; please check with your
            carrier; {feature}; Two SIM cards, or one and a memory card; {brand} promises three years of
            security updates""",
        aspects="battery; screen; camera; speed; signal; sound",
    ),
    "Smartwatches": shelf(
        brands="""Pulsera; Tempo Verde; Wristly; Cadence Nine; Strider & Co.; Vitalune; Hourglen; Kinetra;
            Dialbright; Stepwell; Orbit Wrist; Tallis""",
        heads="""{brand} {model} Smartwatch, {screen}, {color}; {brand} Fitness Smartwatch with {feature},
            {color}; {brand} {model} {kind} with {feature}, {color}; {brand} {screen} {kind}, {battery}
            Battery, {color}""",
        tails="""{feature}; {water} Waterproof; {battery} Battery; {modes} Sport Modes; for {user}; Works
            with Most Phones; Sleep Tracking; Message and Call Alerts; Music Control; Step Counter; Custom
            Watch Faces""",
        words={
            "kind": "Smart Watch; Fitness Tracker; GPS Sports Watch; Kids Smartwatch; Hybrid Smartwatch",
            "color": "Black; Silver; Rose Gold; Navy; Sage; Lilac; Sand",
            "feature": """Heart Rate Monitor; Built-in GPS; Blood Oxygen Sensor; Bluetooth Calls; Sleep
                Monitor; Stress Tracking; ECG App""",
            "water": "IP67; IP68; 3 ATM; 5 ATM",
            "modes": "8; 14; 25; 40; 100",
            "user": "Men and Women; Runners; Kids; Swimmers; Hikers; Everyday Wear",
            "model": "S1; Active 2; Pace; R3; Lite; Terra 5; Vita",
            "battery": "5 Day; 7 Day; 10 Day; 14 Day; 20 Day",
        },
        grades={"screen": '1.3"; 1.4"; 1.55"; 1.69"; 1.7"; 1.75" AMOLED; 1.85" AMOLED; 1.96" AMOLED'},
        options={"Color": "color"},
        details={
            "Type": "{kind}",
            "Screen": "{screen}",
            "Color": "{color}",
            "Battery Life": "{battery}",
            "Water Rating": "{water}",
        },
        bullets="""{screen} touch screen that stays readable outside; {feature} day and night; {modes}
            sport modes for {user}; {battery} battery life in normal use; {water} rating; Shows messages
            and calls from the phone in your pocket; {brand} includes a second strap in {color}""",
        aspects="screen; battery; tracking; strap; app; fit",
    ),
}
