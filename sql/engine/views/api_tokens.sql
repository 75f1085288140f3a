-- api_tokens: the tokens of the HTTP API: what each may enqueue. A token itself is stored nowhere.
-- errand: for ops, monitor
-- errand: topic api
create or replace view errand.api_tokens as
select name, kinds, queues, set_at, set_by from errand.api_token;
comment on view errand.api_tokens is 'The tokens of the HTTP API: what each may enqueue';
comment on column errand.api_tokens.name is 'the token''s name, which its jobs have';
comment on column errand.api_tokens.kinds is 'the kinds that it may enqueue; null = all';
comment on column errand.api_tokens.queues is 'the queues that it may enqueue into; null = all';
comment on column errand.api_tokens.set_at is 'when it was set';
comment on column errand.api_tokens.set_by is 'the login that set it';
