#!/usr/bin/env bash
# Builds the images and runs what is in them, without a container engine: as root, on Debian or Ubuntu, with
# debootstrap, podman and buildah. The base image is a fresh Debian under its name, so this also shows that the
# Dockerfiles need no particular Python.
#
#   tests/docker/check_images.sh [MIRROR]
#
# BUILD_FLAGS are given to every build, for example --volume for a certificate authority of one's own; the images
# are kept in STORE, where the next run finds their layers.
set -euo pipefail
cd "$(dirname "$0")/../.."

mirror=${1:-}
base=localhost/souk-check-base
# Not this machine's own images and containers.
store=${STORE:-/var/tmp/souk-images}
work=$(mktemp --directory)
podman() { command podman --root "$store" --storage-driver vfs "$@"; }
buildah() { command buildah --root "$store" --storage-driver vfs "$@"; }
trap 'buildah rm --all >/dev/null; rm -rf "$work"' EXIT

say() { printf '\n== %s\n' "$*"; }

if ! podman image exists "$base"; then
    say "a Debian with Python as the base image"
    debootstrap --variant=minbase --include=python3,python3-venv,python3-pip,ca-certificates \
        bookworm "$work/root" ${mirror:+"$mirror"} >"$work/log" || { tail "$work/log"; exit 1; }
    ln -s /usr/bin/python3 "$work/root/usr/local/bin/python"
    tar --directory "$work/root" --create . | podman import --quiet - "$base"
fi

build() { # image dockerfile options...
    local began=$SECONDS
    # shellcheck disable=SC2086
    buildah bud --quiet --isolation chroot --network host --format docker --layers --build-arg PYTHON="$base" \
        ${BUILD_FLAGS:-} --file "$2" --tag "$1" "${@:3}" . >"$work/log" 2>&1 || { tail -40 "$work/log"; exit 1; }
    echo "$1: $((SECONDS - began)) s, $(podman image inspect --format '{{.Size}}' "$1" | numfmt --to=si)B, of which" \
        "$(podman image inspect --format '{{.Size}}' "$base" | numfmt --to=si)B are the base"
}

inside() { # image command...: runs it as the image's user, in a container of its own
    local container
    container=$(buildah from "$1")
    buildah run --isolation chroot "$container" -- "${@:2}" && buildah rm "$container" >/dev/null
}

said() { # image field: what the image says of itself, as JSON
    podman image inspect --format "{{json .$2}}" "$1"
}

becomes_healthy() { # image program test: both as JSON lists, the test as in HEALTHCHECK
    inside "$1" python3 -c '
import json, os, subprocess, sys, time
program, (_, *test) = json.loads(sys.argv[1]), json.loads(sys.argv[2])
child = subprocess.Popen(program)
began = time.monotonic()
while child.poll() is None and time.monotonic() - began < 120:
    if subprocess.run(test, stderr=subprocess.DEVNULL).returncode == 0:
        print(f"healthy after {time.monotonic() - began:.1f} s, as user {os.getuid()}", flush=True)
        child.terminate()
        sys.exit(child.wait(20) not in (0, 130, 143, -15))
    time.sleep(0.2)
sys.exit("never healthy")' "$2" "$3"
}

say "shop"
build souk-shop docker/shop.Dockerfile
becomes_healthy souk-shop "$(said souk-shop Config.Entrypoint)" "$(said souk-shop HealthCheck.Test)"

say "proxy"
build souk-proxy docker/souk.Dockerfile --target proxy
command=$(python3 -c 'import json, sys; print(json.dumps(sum(map(json.loads, sys.argv[1:]), [])))' \
    "$(said souk-proxy Config.Entrypoint)" "$(said souk-proxy Config.Cmd)")
becomes_healthy souk-proxy "$command" "$(said souk-proxy HealthCheck.Test)"

say "runner"
build souk-runner docker/souk.Dockerfile --target runner
inside souk-runner souk run nudges --limit 12

say "ray"
build souk-ray docker/souk.Dockerfile --target runner --build-arg EXTRAS=postgres,ray
becomes_healthy souk-ray '["ray", "start", "--head", "--block", "--disable-usage-stats", "--port=6379"]' \
    '["CMD", "ray", "health-check", "--address", "127.0.0.1:6379"]'

say "all images are built and run"
