import { client } from "@switchyard/bus/call";
import { loginChannelAccount } from "@switchyard/contracts/channels/channels";
import { readSecret } from "../read-secret.ts";
import { findBus, withBus } from "../bus-session.ts";
import { CliError } from "../cli-error.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import { printableLine } from "../printable.ts";
import { textOrStandardInput } from "../standard-input.ts";
import { writeJson, type Terminal } from "../terminal.ts";
import { accountOf } from "./channels.ts";

/**
 * Supplies the values of an account's `${VAR}`. The channels service tries them at the provider, and stores those that it accepts.
 */
export async function login(
  terminal: Terminal,
  named: string,
  { json }: { json?: true },
): Promise<ExitCode> {
  const reply = await withBus(await findBus(terminal.env), async (bus) => {
    const channels = client(bus, { loginChannelAccount });
    const account = accountOf(named);
    const { variables } = await channels.loginChannelAccount({ ...account, values: {} });
    if (variables.length === 0)
      throw new CliError("usage", `${named} has no \${VARIABLE} in its config, so no secret`, {
        hint: "channels.json has its settings: docs/channels.md",
      });
    return channels.loginChannelAccount({ ...account, values: await valuesOf(variables) });
  });
  const { channel, accountId, isStored, identity, problem } = reply;
  if (json) writeJson(terminal, reply);
  else if (isStored)
    terminal.out(`${channel}/${accountId} is signed in: ${printableLine(identity ?? "")}`);
  else terminal.error(`nothing was kept: ${printableLine(problem ?? "the values were not tried")}`);
  return isStored ? EXIT.ok : EXIT.failed;
}

/**
 * Prompts a person for each value; otherwise reads standard input: NAME=value lines, or the value alone when there is one variable.
 */
async function valuesOf(variables: readonly string[]): Promise<Record<string, string>> {
  const values: Record<string, string> = {};
  if (process.stdin.isTTY) {
    for (const name of variables) values[name] = (await readSecret(`${name}: `)).trim();
  } else {
    const [only = "", second] = variables;
    const text = await textOrStandardInput("-");
    for (const line of text.split("\n")) {
      const [, name = "", value = ""] = /^([A-Za-z_]\w*)=(.*)$/.exec(line.trimEnd()) ?? [];
      if (variables.includes(name)) values[name] = value;
    }
    if (second === undefined) values[only] ??= text.trim();
  }
  const given = Object.entries(values).filter(([, value]) => value !== "");
  if (given.length > 0) return Object.fromEntries(given);
  throw new CliError("usage", `nothing was typed for ${variables.join(" or ")}`, {
    hint: "from a file: ./yard channels login ACCOUNT < file, with NAME=value lines",
  });
}
