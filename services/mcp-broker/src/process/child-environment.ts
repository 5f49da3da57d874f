import { access, constants, mkdir } from "node:fs/promises";
import { isAbsolute, join } from "node:path";
import { PROGRAM_VARIABLES } from "@switchyard/service/take-environment";

export interface ChildEnvironment {
  readonly variables: Readonly<Record<string, string>>;
  /** The directory that was made for this server because the broker has no home of its own; null where HOME is the broker's. */
  readonly privateHome: string | null;
}

/**
 * The initial variables of a server's process: only {@link PROGRAM_VARIABLES} of the broker's environment, since the rest holds the keys
 * of models and of other servers. HOME is always set, since programs without it write to a directory named
 * `~` or fail: it is the broker's where the broker may write there, else a directory of the server's own below `stateDir`.
 */
export async function childEnvironment({
  env,
  stateDir,
  server,
}: {
  env: Readonly<Record<string, string | undefined>>;
  stateDir: string;
  server: string;
}): Promise<ChildEnvironment> {
  const passed = PROGRAM_VARIABLES.flatMap((name): [string, string][] => {
    const value = env[name];
    return value === undefined || value === "" ? [] : [[name, value]];
  });
  const variables = { PATH: "", ...Object.fromEntries(passed) };
  if (await isWritable(env["HOME"])) return { variables, privateHome: null };
  const privateHome = join(stateDir, "mcp-homes", server);
  await mkdir(privateHome, { recursive: true, mode: 0o700 });
  return { variables: { ...variables, HOME: privateHome }, privateHome };
}

async function isWritable(directory: string | undefined): Promise<boolean> {
  if (directory === undefined || !isAbsolute(directory)) return false;
  return access(directory, constants.W_OK).then(
    () => true,
    () => false,
  );
}
