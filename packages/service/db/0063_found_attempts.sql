-- kind: expand
-- After a restore an operator notes transactions of ours that the chain has and no attempt is for,
-- so that none is sent again. Nothing is signed by that: what is noted is in a block.
grant insert on attempt to penstock_admin;
grant update (state, tx_id, signed, expires_at, block_number, block_id, block_time) on attempt
  to penstock_admin;
-- When an operator has noted what the chain knew more than the database: before that it is not
-- accepted.
alter table database_loss add column reconciled_at timestamptz;
