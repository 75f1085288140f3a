#!/usr/bin/env bash
# demo.sh: hands real photos to a service that runs, by one SQL call, and shows each as it is done.
#
# DATABASE_URL and ERRAND_STORAGE say where. The photos are those of Debian's package mate-backgrounds; their authors and
# licences stand in /usr/share/doc/mate-backgrounds/copyright. They are copied into the store, as an app's upload would be.
set -euo pipefail

from=/usr/share/backgrounds/mate
photos=(
    nature/Storm.jpg nature/TwoWings.jpg nature/Dune.jpg nature/Blinds.jpg nature/RainDrops.jpg
    abstract/Elephants.jpg abstract/Elephants_3840x2160.jpg abstract/Elephants_5640x3172.jpg
)
patience=60             # seconds until photos that are not done count as a failure

sql() { psql --no-psqlrc --quiet --tuples-only --no-align --set ON_ERROR_STOP=1 "$DATABASE_URL" --command "$1"; }

mkdir -p -m 700 "$ERRAND_STORAGE/uploads"
for photo in "${photos[@]}"; do install -m 600 "$from/$photo" "$ERRAND_STORAGE/uploads/"; done
names=("${photos[@]##*/}")
echo "Handing ${#photos[@]} photos of Debian's package mate-backgrounds to Errand, in one SQL call:"
echo
echo "    select media.submit('uploads/' || name) from unnest(array['${names[0]}', …]) as name"
echo
list=$(printf "'%s'," "${names[@]}")
ids=$(sql "select media.submit('uploads/' || name) from unnest(array[${list%,}]) as name" | sed "s/.*/'&'/" | paste -s -d ,)

# A line a photo: name, before, after, what is left, size, quality, encodes, milliseconds.
line="%-26s %12s %9s %6s %11s %7s %7s %6s\n"
printf "$line" PHOTO BEFORE AFTER LEFT PIXELS QUALITY ENCODES MS
shown=0 since=-infinity
for _ in $(seq $((patience * 10))); do
    while IFS='|' read -r at name row; do
        [ -n "$at" ] || continue
        IFS='|' read -r before after left pixels quality encodes ms <<< "$row"
        printf "$line" "$name" "$before" "$after" "$left" "$pixels" "$quality" "$encodes" "$ms"
        shown=$((shown + 1)) since=$at
    done < <(sql "
        select delivered_at, regexp_replace(source_key, '.*/', ''), source_bytes, bytes, percent || '%',
            width || 'x' || height, coalesce(quality::text, 'as is'), encodes, round(milliseconds)
        from media.photo_status
        where id in ($ids) and delivered_at > '$since'
        order by delivered_at")
    [ "$shown" -lt ${#photos[@]} ] || break
    sleep 0.1
done

if [ "$shown" -lt ${#photos[@]} ]; then
    echo "Not done after $patience s:" >&2
    sql "select source_key, state, error from media.photo_status where id in ($ids) and state <> 'delivered'" >&2
    exit 1
fi
echo
echo "The results lie in $ERRAND_STORAGE/photos; what became of each stands in the view media.photo_status."
