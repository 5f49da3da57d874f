import { client } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/bus";
import { stopCalls, resumeCalls, StopScope } from "@switchyard/contracts/policy/policy-budgets";
import { listTokenKeys } from "@switchyard/contracts/policy/policy-grants";
import { findBus, withBus } from "../bus-session.ts";
import { CliError } from "../cli-error.ts";
import { writeJson, type Terminal } from "../terminal.ts";

/** `yard revoke run|agent|server|key`: an act of the policy's kill switch, until it is lifted. */
export async function revoke(
  terminal: Terminal,
  target: { readonly kind: string; readonly name: string },
  options: { reason?: string; lift?: true; json?: true },
): Promise<void> {
  // No name begins like that; a key's id may begin with one hyphen.
  if (target.name.startsWith("--") || (target.kind !== "key" && target.name.startsWith("-")))
    throw new CliError("usage", `unknown option ${target.name}`, {
      hint: "see ./yard revoke --help",
    });
  const scope = StopScope.safeParse(target);
  if (!scope.success)
    throw new CliError("usage", `${target.kind} ${target.name} is nothing that can be revoked`, {
      hint: "yard revoke run <runId> | agent <name> | server <id> | key <kid>",
    });
  const what = `${target.kind} ${target.name}`;
  const bus = await findBus(terminal.env);
  if (options.lift === true) {
    const reply = await withBus(bus, (open) =>
      client(open, { resumeCalls }).resumeCalls({ scope: scope.data }),
    );
    if (options.json) return writeJson(terminal, reply);
    return terminal.note(reply.resumed ? `${what} may act again` : `${what} was not revoked`);
  }
  const { reply, isUnknown } = await withBus(bus, async (open) => ({
    reply: await client(open, { stopCalls }).stopCalls({
      scope: scope.data,
      reason: options.reason ?? `revoked from the command line`,
    }),
    isUnknown: await isUnknownKey(open, target),
  }));
  if (options.json) return writeJson(terminal, reply);
  terminal.note(
    isUnknown
      ? `${what} would be refused, and the policy service has no such key; yard policy keys lists those that it has`
      : `${what} is revoked: its calls are denied, those in flight are cancelled`,
  );
}

/** The person revokes a leaked key, so a misspelt name must not pass for a revoked key. */
async function isUnknownKey(
  bus: Bus,
  { kind, name }: { readonly kind: string; readonly name: string },
): Promise<boolean> {
  if (kind !== "key") return false;
  const { keys } = await client(bus, { listTokenKeys }).listTokenKeys({});
  return keys.every(({ kid }) => kid !== name);
}
