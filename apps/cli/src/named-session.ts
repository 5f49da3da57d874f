import { client } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/bus";
import { listSessions } from "@switchyard/contracts/agent-runner/sessions";
import { CliError } from "./cli-error.ts";
import { onlyOne } from "./named-run.ts";
import { beginningOf } from "./shown-name.ts";

const LIST = "./yard sessions list";

/** Resolves a session that a table shows with `…`; any other text is a key or an id already. */
export async function namedSession(
  bus: Bus,
  text: string,
  owner: { readonly owner?: string } = {},
): Promise<string> {
  const beginning = beginningOf(text);
  if (beginning === null) return text;
  const { sessions } = await client(bus, { listSessions }).listSessions({
    search: beginning,
    limit: 200,
    ...owner,
  });
  const keys = sessions.map(({ key }) => key).filter((key) => key.startsWith(beginning));
  const found = onlyOne(keys, { text, what: "session", list: LIST });
  if (found !== null) return found;
  throw new CliError("unknown_session", `no session begins with ${beginning}`, {
    hint: `see your sessions with: ${LIST}`,
  });
}
