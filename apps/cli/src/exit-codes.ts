/** What `yard` exits with. Documented in README.md and in `yard --help`. */
export const EXIT = {
  ok: 0,
  failed: 1,
  usage: 2,
  notFound: 3,
  denied: 4,
  dependencyDown: 6,
  timeout: 7,
  interrupted: 130,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** Error code → exit code: the standard codes, the codes that contracts declare, and our own. Any other code is 1. */
const EXIT_OF_CODE: Readonly<Record<string, ExitCode>> = {
  usage: EXIT.usage,
  invalid_request: EXIT.usage,
  invalid_command: EXIT.usage,
  payload_too_large: EXIT.usage,
  upload_too_large: EXIT.usage,
  reason_missing: EXIT.usage,
  invalid_config: EXIT.usage,
  scope_required: EXIT.usage,
  invalid_content: EXIT.usage,
  invalid_arguments: EXIT.usage,
  login_not_supported: EXIT.usage,

  unknown_agent: EXIT.notFound,
  unknown_model: EXIT.notFound,
  unknown_run: EXIT.notFound,
  unknown_server: EXIT.notFound,
  unknown_question: EXIT.notFound,
  not_supported: EXIT.notFound,
  unknown_skill: EXIT.notFound,
  unknown_tool: EXIT.notFound,
  unknown_version: EXIT.notFound,
  unknown_file: EXIT.notFound,
  unknown_pin: EXIT.notFound,
  not_withheld: EXIT.notFound,
  directory_missing: EXIT.notFound,
  file_missing: EXIT.notFound,
  no_agent_files: EXIT.notFound,

  denied: EXIT.denied,
  forbidden: EXIT.denied,
  forbidden_admin: EXIT.denied,
  login_failed: EXIT.denied,
  login_expired: EXIT.denied,
  tool_not_approved: EXIT.denied,
  findings_block: EXIT.denied,
  invalid_token: EXIT.denied,
  version_blocked: EXIT.denied,
  not_allowed: EXIT.denied,
  directory_not_allowed: EXIT.denied,

  not_running: EXIT.dependencyDown,
  no_responders: EXIT.dependencyDown,
  no_capacity: EXIT.dependencyDown,
  instances_exhausted: EXIT.dependencyDown,
  not_owner: EXIT.dependencyDown,
  owned_elsewhere: EXIT.dependencyDown,
  owner_unavailable: EXIT.dependencyDown,
  lease_unavailable: EXIT.dependencyDown,
  disconnected: EXIT.dependencyDown,
  unsupported_server: EXIT.dependencyDown,
  jetstream_disabled: EXIT.dependencyDown,
  overloaded: EXIT.dependencyDown,
  policy_unavailable: EXIT.dependencyDown,
  call_store_unavailable: EXIT.dependencyDown,
  server_down: EXIT.dependencyDown,
  circuit_open: EXIT.dependencyDown,
  pins_unavailable: EXIT.dependencyDown,
  login_key_missing: EXIT.dependencyDown,
  server_overloaded: EXIT.dependencyDown,
  registry_unavailable: EXIT.dependencyDown,
  store_unavailable: EXIT.dependencyDown,
  too_many_completions: EXIT.dependencyDown,
  no_model: EXIT.dependencyDown,

  timeout: EXIT.timeout,
  deadline_exceeded: EXIT.timeout,
  tool_timeout: EXIT.timeout,
  server_timeout: EXIT.timeout,

  archive_refused: EXIT.failed,
  managed_by_files: EXIT.failed,
  internal: EXIT.failed,
  invalid_reply: EXIT.failed,
  invalid_result: EXIT.failed,
  stale_epoch: EXIT.failed,
  pin_changed: EXIT.failed,
  refresh_failed: EXIT.failed,
  tool_failed: EXIT.failed,
  server_failed: EXIT.failed,
  model_failed: EXIT.failed,
  already_ended: EXIT.failed,
  too_many_subscriptions: EXIT.failed,
  server_exists: EXIT.failed,
  agents_invalid: EXIT.failed,
  server_disabled: EXIT.failed,
  result_too_large: EXIT.failed,
  call_id_conflict: EXIT.failed,
  outcome_unknown: EXIT.failed,

  cancelled: EXIT.interrupted,
  interrupted: EXIT.interrupted,
};

export function exitCodeOf(code: string): ExitCode {
  return Object.hasOwn(EXIT_OF_CODE, code) ? (EXIT_OF_CODE[code] ?? EXIT.failed) : EXIT.failed;
}

/** True when the table has a line for this code; a test keeps it complete. */
export function hasExitCode(code: string): boolean {
  return Object.hasOwn(EXIT_OF_CODE, code);
}
