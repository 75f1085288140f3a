# media.sh: eight photos that an app could not upload, stored and compressed.
# place: 1

photos=(
    nature/Storm.jpg nature/TwoWings.jpg nature/Dune.jpg nature/Blinds.jpg nature/RainDrops.jpg
    abstract/Elephants.jpg abstract/Elephants_3840x2160.jpg abstract/Elephants_5640x3172.jpg
)
names=("${photos[@]##*/}")

show_media() {
    show_uploads
    show_compression
}

show_uploads() {
    title "UploadRetry: the bytes of ${#photos[@]} photos are handed over in SQL, since an app's own upload has failed"
    type_in "select media.submit_upload('uploads/$run/${names[0]}', '\\xffd8…', owner => 'demo');"
    local photo mine="owner = 'demo' and key like 'uploads/$run/%'"
    for photo in "${photos[@]}"; do hand_over "$photo" "uploads/$run/${photo##*/}" demo > /dev/null; done
    until_true "not exists (select from media.upload_status where $mine and delivered_at is null)" "uploads" \
        || { sql "select key, state, error from media.upload_status where $mine and delivered_at is null;" >&2; exit 1; }
    sql "
        select format('%s of %s are in the store, %s MB; the last %s ms after it was handed over',
            count(delivered_at), count(*), round(sum(size) / 1e6, 1), round(1000 * extract(epoch from
                (array_agg(delivered_at - staged_at order by staged_at desc))[1])))
        from media.upload_status where $mine;" | indent
}

show_compression() {
    title "ImageCompression: each below 500,000 bytes, and stored"
    type_in "select media.submit('uploads/$run/${names[0]}', owner => 'demo');"
    local ids shown=0 since=-infinity at name row before after left pixels quality encodes ms
    ids=$(sql "select quote_literal(media.submit('uploads/$run/' || name, owner => 'demo'))
        from unnest(string_to_array('${names[*]}', ' ')) as name;" | paste -s -d ,)
    # One row per photo: name, bytes before, bytes after, ratio, size, quality, encodes, milliseconds.
    local line="    %-26s %10s %8s %5s %10s %8s %8s %6s\n"
    printf "$line" PHOTO BEFORE AFTER LEFT PIXELS QUALITY ENCODES MS
    for _ in $(seq $((timeout * 10))); do
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
            order by delivered_at;")
        [ "$shown" -lt ${#photos[@]} ] || return 0
        sleep 0.1
    done
    echo "Not done after $timeout s:" >&2
    sql "select source_key, state, error from media.photo_status where id in ($ids) and state <> 'delivered';" >&2
    exit 1
}
