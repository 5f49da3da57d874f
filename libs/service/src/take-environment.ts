/** Variables for running programs on this machine and for reaching the network. */
export const PROGRAM_VARIABLES: readonly string[] = [
  ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR"],
  ["TZ", "LANG", "LC_ALL", "LC_CTYPE"],
  // Proxies; both spellings are in use.
  ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"],
  ["http_proxy", "https_proxy", "all_proxy", "no_proxy"],
  // Certificate authorities, by the names that Node, OpenSSL, Python's requests, curl and npm read.
  ["NODE_EXTRA_CA_CERTS", "NODE_USE_SYSTEM_CA", "SSL_CERT_FILE", "SSL_CERT_DIR"],
  ["REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "npm_config_cafile"],
  // Registries from which npx and uvx get programs: another registry may have another program of the same name.
  ["npm_config_registry", "UV_DEFAULT_INDEX"],
].flat();

/** Variables that Node.js and libraries may read later. Switchyard's own settings are read once, at the start. */
const READ_LATER = /^(?:NODE|OTEL|UV_THREADPOOL|NATS)_/;

/** Amazon's client looks for keys and a region there. The variables that are keys themselves are not among them. */
const OF_AWS = [
  ["AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE"],
  ["AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"],
  ["AWS_ROLE_ARN", "AWS_ROLE_SESSION_NAME", "AWS_WEB_IDENTITY_TOKEN_FILE"],
  ["AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"],
  ["AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "AWS_STS_REGIONAL_ENDPOINTS"],
  ["AWS_EC2_METADATA_DISABLED"],
].flat();

/** The part of an environment that stays in a process: what Node.js, libraries and programs that the process starts may read at any time. */
export function lastingVariables(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const stays = new Set([...PROGRAM_VARIABLES, ...OF_AWS]);
  return Object.fromEntries(
    Object.entries(env).filter(([name]) => stays.has(name) || READ_LATER.test(name)),
  );
}

/**
 * Removes the environment from a process: returns all of it, and leaves the variables that programs and libraries read later. So the
 * secrets that entries of servers name are not where a child, a crash report or a library finds them. The kernel keeps the block
 * that the process was started with (`/proc/<pid>/environ`), for processes of the same user: hence the isolation of servers, and
 * {@link environmentFromStdin}.
 */
export function takeEnvironment(
  env: NodeJS.ProcessEnv,
): Readonly<Record<string, string | undefined>> {
  const taken = { ...env };
  replaceEnvironment(env, lastingVariables(taken));
  return taken;
}

/** Gives a process the environment `next` in place of its own. */
export function replaceEnvironment(env: NodeJS.ProcessEnv, next: NodeJS.ProcessEnv): void {
  for (const name of Object.keys(env)) if (next[name] === undefined) delete env[name];
  Object.assign(env, next);
}
