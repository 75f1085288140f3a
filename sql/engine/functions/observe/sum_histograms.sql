-- errand: after add_histograms
-- sum_histograms: the sum of histograms, as an aggregate.
create or replace aggregate errand.sum_histograms(int[]) (
    sfunc = errand.add_histograms, stype = int[], initcond = '{}');
comment on aggregate errand.sum_histograms(int[]) is 'The sum of histograms, bucket by bucket';
