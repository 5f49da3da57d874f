import { describe, it } from "node:test";
import { RuleTester } from "oxlint/plugins-dev";
import plugin from "./plugin.ts";

RuleTester.describe = (title, run) => void describe(title, run);
RuleTester.it = (title, run) => void it(title, run);

const errors = 1;
// The plugin types the part of the interface that it uses.
const rule = plugin.rules["text-cuts"] as unknown as Parameters<RuleTester["run"]>[1];
new RuleTester().run("texts are cut in one place, by whole characters", rule, {
  valid: [
    // Lists.
    "problems.slice(0, MAX_PROBLEMS)",
    "state.turns.slice(0, 5)",
    "listed.slice(0, limit)",
    "names.filter(isKnown).slice(0, 20)",
    "(list ?? []).slice(0, MAX)",
    "(isList ? given : []).slice(0, MAX)",
    "Object.keys(value).slice(0, 50)",
    // Positions that were found, and ends that are known.
    "text.slice(0, text.indexOf(':'))",
    "text.slice(0, at)",
    "text.slice(0, at + 1)",
    "text.slice(0, -SUFFIX.length)",
    "text.slice(at)",
    "word.slice(0, 1)",
    // Programs make these, of ASCII.
    "createHash('sha256').update(text).digest('hex').slice(0, 32)",
    "policyDigest.slice(0, 18)",
    "digestOf(text).slice(0, 16)",
    "new Date().toISOString().slice(0, 10)",
    "name.replaceAll(/[^a-z0-9-]+/g, '-').replace(/^-/, '').slice(0, 24)",
  ],
  invalid: [
    { code: "text.slice(0, 100)", errors },
    { code: "text.slice(0, MAX_TEXT)", errors },
    { code: "text.slice(0, MAX_TEXT - 1)", errors },
    { code: "text.slice(0, maxLength - CUT.length)", errors },
    { code: "text.slice(0, 4 * limitBytes)", errors },
    { code: "text.slice(0, Math.floor(MAX / 2))", errors },
    { code: "record.slice(-room)", errors },
    { code: "error.message.slice(0, 500)", errors },
    { code: "redact(text).slice(0, MAX_TEXT)", errors },
    { code: "text.trim().slice(0, 80)", errors },
    { code: "`${path}: ${message}`.slice(0, 300)", errors },
    { code: "text?.slice(0, 200)", errors },
    { code: "text.substring(2, 5)", errors },
    { code: "text.substr(0, at)", errors },
  ],
});
