import { readFile } from "node:fs/promises";
import { CliError } from "./cli-error.ts";
import { contexts, currentContext } from "./settings.ts";

/** A header's value, so no line may end in it. */
const API_KEY = /^[\x21-\x7e]{8,8192}$/;

/**
 * The API key for a gateway: YARD_API_KEY, or that of the chosen context or of another one with this address. Throws when
 * there is none.
 */
export async function apiKeyFor(server: string, env: NodeJS.ProcessEnv): Promise<string> {
  const given = env["YARD_API_KEY"] ?? "";
  if (given !== "") return checkedApiKey(given, "YARD_API_KEY");
  const file = fileOfContext(server, env);
  if (file !== null) return readApiKey(file);
  throw new CliError("bad_credential", `there is no API key for ${server} here`, {
    hint: `sign in with: ./yard login ${server}; or set YARD_API_KEY`,
  });
}

function fileOfContext(server: string, env: NodeJS.ProcessEnv): string | null {
  const chosen = currentContext(env)?.context;
  const all = [...(chosen === undefined ? [] : [chosen]), ...Object.values(contexts(env))];
  for (const context of all)
    if ("http" in context && context.http === server) return context.keyFile;
  return null;
}

export async function readApiKey(file: string): Promise<string> {
  const text = await readFile(file, "utf8").catch((cause: unknown) => {
    throw new CliError("bad_credential", `the API key ${file} cannot be read`, {
      hint: "sign in again with: ./yard login URL, or name another file",
      cause,
    });
  });
  return checkedApiKey(text, file);
}

/** The key without what surrounds it. Throws for what cannot be one, without repeating it. */
export function checkedApiKey(text: string, from: string): string {
  const key = text.trim();
  if (API_KEY.test(key)) return key;
  throw new CliError(
    "usage",
    `${from} has no API key: a key is one line without spaces, such as yk_…`,
    {
      hint: "who runs the installation makes one with: ./yard keys api create NAME",
    },
  );
}
