-- kind: expand
-- Roles of the database, each with the rights of one kind of process or person, so that what gets
-- hold of one does no more than that one. deploy/postgresql/roles.sql makes them where the role
-- that migrates may not. A new table is nobody's but its owner's until its migration grants it;
-- rights.txt in this folder is the sum.
--
--   penstock_api     answers customers: places orders and holds their prices, moves no money
--   penstock_worker  runs the steps: changes no price, no plan, no policy and no customer
--   penstock_admin   operators' commands: signs nothing, and writes nothing that the chain says
--   penstock_signer  reads what a signature is for
--   penstock_read    reads, without secrets: reports and monitoring

do $$
declare
  role text;
  seconds int;
begin
  for role, seconds in values ('penstock_api', 5), ('penstock_worker', 30),
      ('penstock_admin', 3600), ('penstock_signer', 30), ('penstock_read', 3600) loop
    if not exists (select from pg_roles where rolname = role) then
      execute format('create role %I', role);
      execute format('alter role %I set statement_timeout = %L', role, seconds || 's');
    end if;
  end loop;
exception
  when insufficient_privilege then
    raise exception 'the roles of Penstock are missing, and % may not make them: '
      'let a superuser run deploy/postgresql/roles.sql once', current_user;
  -- Another database of the server has made them meanwhile.
  when duplicate_object or unique_violation then null;
end $$;

grant usage on schema public
  to penstock_api, penstock_worker, penstock_admin, penstock_signer, penstock_read;

-- Reading.

grant select on all tables in schema public
  to penstock_api, penstock_worker, penstock_admin, penstock_read;
revoke select on attempt, operator_action from penstock_api;
grant select (id, subject, contract, state, tx_id, expires_at, send_at, sends, answer, block_number,
  block_time, block_id, made_at, sent_at, uncovered, refused_at) on attempt to penstock_api;
revoke select on attempt, api_key, webhook_secret, signing_key, aml_evidence, aml_answer,
  user_password, user_link, user_session, passkey, recovery_code, answered_challenge
  from penstock_read;
grant select (id, subject, contract, state, tx_id, expires_at, send_at, sends, answer, block_number,
  block_time, block_id, made_at, sent_at, uncovered, refused_at) on attempt to penstock_read;
grant select (id, customer_id, name, scopes, allowed_networks, daily_cap_sun, require_v2,
  require_external_id, created_at, revoked_at, expires_at, secret_made_at, old_secret_made_at,
  old_secret_until, made_by_key, spends_from, last_used_at, ending_at) on api_key to penstock_read;
grant select (webhook_id, number, made_at, until) on webhook_secret to penstock_read;
grant select (id, public_key, made_at, retired_at) on signing_key to penstock_read;
grant select (id, check_id, provider, outcome, sha256, received_at) on aml_answer to penstock_read;
grant select on migration, attempt, delegation, orders, activation, deposit, subscription,
  subscription_supply, transfer to penstock_signer;

-- Money. What a role may insert into the ledger is a matter of the row.

alter table transfer enable row level security;
create policy transfer_is_read on transfer for select using (true);
create policy transfer_is_written on transfer for insert to penstock_worker, penstock_admin
  with check (true);
-- A subscription that has failed before it began gives back what was held for its start.
create policy transfer_is_held on transfer for insert to penstock_api
  with check (kind = 'hold' or kind = 'release' and exists (
    select from subscription where 'subscription:' || id = hold_id and state = 'error'));
create policy transfer_is_locked on transfer for update to penstock_worker, penstock_admin
  using (true);

grant insert on transfer to penstock_api, penstock_worker, penstock_admin;
grant update (number) on transfer to penstock_worker, penstock_admin;
grant update (held_sun) on account to penstock_api;
grant insert, update on account to penstock_worker, penstock_admin;

-- What customers' calls write.

grant insert on activation, aml_check, aml_count_delta, aml_entry, api_key, api_key_cap,
  api_key_nonce, api_key_spending, aml_watch, customer_setting, event, event_counter, event_note,
  loosened_setting, notice, orders, process, quote, refusal, refusal_day, subscription, webhook,
  webhook_secret to penstock_api;
grant update on aml_watch, api_key, api_key_cap, api_key_spending, customer_setting, event_counter,
  event_publisher, loosened_setting, notice, process, refusal_day, webhook, webhook_secret to
  penstock_api;
grant delete on api_key_cap, aml_watch, event_note, notice, process, webhook_secret to penstock_api;
grant update (reserved) on pool to penstock_api;
grant update (withdrawn_at) on aml_entry to penstock_api;
grant update (state, reason, stopped_at, resting, look_at, total_sun, withdrawn) on subscription
  to penstock_api;
-- The right to change a column is the right to lock the row.
grant update (open_orders_limit) on customer to penstock_api;

grant insert, update, delete on service_user, user_link, user_session, user_password, passkey,
  recovery_code, answered_challenge, sign_in to penstock_api;
grant insert, update on metric to penstock_api;
-- A webhook is tried while its customer waits.
grant insert on webhook_call to penstock_api;

-- The first process that starts makes the key that receipts are signed with.
grant insert on signing_key to penstock_api, penstock_worker;

-- What the steps write.

grant insert on activation, alert, aml_answer, aml_check, aml_count, aml_count_delta, aml_evidence,
  aml_watch, api_key_cap, api_key_nonce, api_key_spending, attempt, block, books_check,
  books_finding, chain, cursor, customer_setting, delegation, deposit, deposit_outflow, event,
  event_counter, event_note, flow_asset, flow_block, flow_carried, flow_checkpoint,
  flow_checkpoint_part, flow_freeze, flow_generation, flow_hub, flow_reach, holding, invoice,
  invoice_progress, journal, journal_mark, label_set, label_set_version, list, list_entry,
  list_version, loosened_setting, node_dispute, node_hiding, notice, operator_action, orders, pool,
  pool_wallet, process, quote, refusal, refusal_day, subscription, subscription_supply,
  subscription_use, summary, summary_progress, wallet_check, webhook_call to penstock_worker;
grant update on activation, alert, aml_check, aml_count, aml_count_delta, aml_service, aml_watch,
  api_key_cap, api_key_spending, attempt, block, books_check, books_finding, chain, cursor,
  delegation, deposit, deposit_outflow, event_counter, event_publisher, flow_asset, flow_carried,
  flow_checkpoint, flow_checkpoint_part, flow_freeze, flow_generation, flow_hub, holding,
  invoice_progress, journal_mark, label_set, list, loosened_setting, node_dispute, node_hiding,
  notice, orders, pool, pool_wallet, process, refusal_day, service, subscription,
  subscription_supply, subscription_use, summary, summary_progress, wallet_check, webhook to
  penstock_worker;
grant update (ending_at) on api_key to penstock_worker;
grant update (balance_low_at) on customer_setting to penstock_worker;
grant delete on alert, aml_answer, aml_count_delta, aml_evidence, aml_watch, api_key_cap,
  api_key_nonce, block, books_finding, chain, cursor, event, event_note, flow_block, flow_carried,
  flow_checkpoint, flow_checkpoint_part, flow_generation, flow_hub, loosened_setting, notice,
  pool_wallet, process, quote, refusal, refusal_day, subscription_use, summary, wallet_check,
  webhook_call to penstock_worker;
grant insert, update, delete on metric, metric_progress to penstock_worker;
grant delete on user_session, user_link, answered_challenge, sign_in to penstock_worker;

-- What operators write.

grant insert on aml_check, aml_count_delta, aml_entry, aml_price, aml_watch, api_key, api_key_cap,
  api_key_spending, approval_rule, correction, correction_proposal, customer, customer_setting,
  deposit_resolution, event, event_counter, event_note, fee, flow_asset, flow_block, flow_freeze,
  flow_reach, label_set, label_set_version, list, list_entry, list_version, notice, operator_action,
  plan, policy, price, signing, signing_key, webhook, webhook_network, webhook_secret to
  penstock_admin;
grant update on aml_check, aml_entry, aml_price, aml_service, aml_watch, api_key, api_key_cap,
  api_key_spending, correction_proposal, customer, customer_setting, deposit, event_counter,
  event_publisher, fee, flow_generation, flow_reach, holding, label_set, list, notice, offer,
  orders, plan, policy, price, service, signing, signing_key, subscription, webhook,
  webhook_network, webhook_secret to penstock_admin;
grant delete on aml_watch, api_key_cap, event_note, notice, webhook_network, webhook_secret to
  penstock_admin;
grant insert, update, delete on service_user, user_link, user_session, user_password, passkey,
  recovery_code to penstock_admin;
grant insert, update on incident, database_loss to penstock_admin;
grant insert on database_loss to penstock_api, penstock_worker;
grant update on status_page to penstock_admin;
grant usage on sequence customer_deposit_index to penstock_admin;
-- The check of the books compares it with the entries.
grant select on sequence transfer_number_seq to penstock_worker, penstock_admin, penstock_read;
