-- kind: expand
-- A worker opens accounts of customers, by a statement that says that they may not go negative, as
-- versions before this schema need it; none of a customer may ever, whoever opens it.
alter table account add constraint account_of_customer_never_negative check (
  not may_go_negative or id not like 'customer:%' or id = 'customer:direct_recharge');
grant insert (may_go_negative) on account to penstock_worker;
