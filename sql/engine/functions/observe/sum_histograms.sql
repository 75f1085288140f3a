-- sum_histograms: aggregate that adds histograms bucket by bucket.
-- errand: after add_histograms
create or replace aggregate errand.sum_histograms(int[]) (
    sfunc = errand.add_histograms, stype = int[], initcond = '{}');
comment on aggregate errand.sum_histograms(int[]) is 'Adds histograms bucket by bucket';
