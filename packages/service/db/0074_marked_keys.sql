-- kind: expand
-- Keys that sign receipts are made by the owner of the database, who migrates, or by an operator;
-- each row has a mark that only the sealing key makes, and one without it is neither published nor
-- used. Null: made before there were marks; `penstock migrate` marks those that are ours.
alter table signing_key add column mark text;
revoke insert on signing_key from penstock_api, penstock_worker;
