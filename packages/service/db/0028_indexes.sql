-- What steps look for again and again must not grow with what there is: the seals since the last root
-- that was noted, and the balances of addresses that were read and not compared yet.
create index journal_sealed_at on journal (sealed_at);
create index holding_to_compare on holding (number) where not compared;
