-- sum_histograms: aggregate that adds histograms bucket by bucket.
-- errand: after add_histograms
create or replace aggregate errand_internal.sum_histograms(bigint[]) (
    sfunc = errand_internal.add_histograms, stype = bigint[], initcond = '{}');
comment on aggregate errand_internal.sum_histograms(bigint[]) is 'Adds histograms bucket by bucket';
