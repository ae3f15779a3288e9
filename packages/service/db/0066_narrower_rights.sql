-- kind: expand
-- Rights that no release has used: what sessions, sign-ins and pairings prove is read by those who
-- answer people, and by no worker, which only deletes what is old; nor does a worker begin what
-- customers begin, or the API end what steps end.
revoke select on passkey, recovery_code, pairing, user_session, answered_challenge, sign_in
  from penstock_worker;
grant select (id) on user_session, sign_in to penstock_worker;
grant select (ends_at) on answered_challenge to penstock_worker;
revoke select, delete on user_link from penstock_worker;

revoke insert on account, aml_watch, api_key_nonce, refusal_day, subscription from penstock_worker;
revoke delete on aml_watch from penstock_worker;
revoke update on refusal_day from penstock_worker;
revoke update, delete on api_key_cap from penstock_api;
revoke delete on notice from penstock_api;
revoke update on aml_watch from penstock_api;
