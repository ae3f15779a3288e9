-- For what customers list.
create index subscription_use_by_block on subscription_use
  (subscription_id, block_number desc, tx_id desc);
create index aml_check_superseding on aml_check (supersedes) where supersedes is not null;
