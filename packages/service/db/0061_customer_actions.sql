-- kind: expand
-- What customers' users and keys change is recorded by the processes that answer them.

grant insert on customer_action to penstock_api;

create index customer_action_by_actor on customer_action (customer_id, made_by, number);
create index customer_action_by_subject on customer_action
  (customer_id, subject text_pattern_ops, number);
create index customer_action_by_time on customer_action (customer_id, made_at);
