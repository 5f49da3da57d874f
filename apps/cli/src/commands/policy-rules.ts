import { client } from "@switchyard/bus/call";
import {
  listPolicyRules,
  type PolicyResultRule,
  type PolicyRule,
} from "@switchyard/contracts/policy/policy-bundles";
import { findBus, withBus } from "../bus-session.ts";
import { tableLines } from "../table.ts";
import { writeJson, type Terminal } from "../terminal.ts";

/** The rules in force, in words. */
export async function rules(
  terminal: Terminal,
  { json, wide }: { json?: true; wide?: true },
): Promise<void> {
  const found = await withBus(await findBus(terminal.env), async (bus) => {
    const { listPolicyRules: list } = client(bus, { listPolicyRules });
    let page = await list({});
    const all = [...page.rules];
    const results = page.results ?? [];
    while (page.next !== null) {
      page = await list({ after: page.next });
      all.push(...page.rules);
    }
    return { policyDigest: page.policyDigest, rules: all, results };
  });
  if (json) return writeJson(terminal, found);
  const most = wide ? {} : { maxWidth: 40 };
  const lines = tableLines<PolicyRule>(
    [
      { title: "RULE", value: ({ id }) => id },
      { title: "SAYS", value: ({ effect }) => effect },
      { title: "WHO", value: ({ who }) => who, ...most },
      { title: "WHAT", value: ({ what }) => what, ...most },
      { title: "WHEN", value: ({ when }) => when.join("; "), ...most },
      { title: "APPROVAL", value: ({ tier }) => tier ?? "" },
      { title: "APPROVED BY", value: ({ approve }) => approve ?? "", ...most },
      ...(found.rules.some(({ unmask }) => unmask !== undefined)
        ? [{ title: "UNMASKS", value: ({ unmask }: PolicyRule) => unmask ?? "" }]
        : []),
    ],
    found.rules,
  );
  for (const line of lines) terminal.out(line);
  if (found.results.length === 0) return;
  terminal.out("");
  for (const line of tableLines<PolicyResultRule>(
    [
      { title: "RESULTS", value: ({ id }) => id },
      { title: "EFFECT", value: ({ effect }) => effect },
      { title: "WHO", value: ({ who }) => who, ...most },
      { title: "WHAT", value: ({ what }) => what, ...most },
      { title: "FINDS", value: ({ finds }) => finds, ...most },
    ],
    found.results,
  ))
    terminal.out(line);
}
