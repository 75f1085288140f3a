-- sum_histograms: aggregate that adds histograms bucket by bucket.
-- errand: after add_histograms
create or replace aggregate errand.sum_histograms(bigint[]) (
    sfunc = errand.add_histograms, stype = bigint[], initcond = '{}');
comment on aggregate errand.sum_histograms(bigint[]) is 'Adds histograms bucket by bucket';
