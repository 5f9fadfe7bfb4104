{{ config(materialized="table") }}
-- One row per user and place of the release. A user without a release has no row.
with histograms as (
    select user_id, map_from_entries(list((place, visits::bigint))) as histogram
    from {{ ref("visits") }}
    group by user_id
),
released as (
    select user_id, unnest(map_entries(sanitize(histogram))) as entry
    from histograms
)
select user_id, entry.key as place, entry.value as visits
from released
order by all
