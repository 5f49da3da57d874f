import { fileAccessOf } from "@switchyard/contracts/toolbox/file-access";
import { NO_RULE, type ToolReach } from "@switchyard/contracts/policy/policy-bundles";
import type { ToolRef } from "@switchyard/contracts/tool-names";
import {
  selectsLabels,
  selectsTool,
  targetOf,
  tierOf,
  type CompiledBundle,
  type CompiledRule,
  type Target,
} from "../bundle/compile-bundle.ts";
import { isConsistent } from "./evaluate.ts";
import { isUndecidedFile } from "./file-decision.ts";
import { coversGlob } from "./pattern-cover.ts";

interface Reach {
  readonly reach: ToolReach[];
  readonly deniedBy: string[];
  readonly omitted: number;
}

const MAX_REACH = 1_000;

const EVERYBODY: ToolReach = {
  rule: NO_RULE,
  tier: "auto",
  users: null,
  agents: null,
  roles: null,
  channels: null,
  groups: null,
  conditional: false,
  except: [],
};

/**
 * Lists which principals may call a tool: one entry for each allow rule about it that some principal matches. The answer is exact
 * for the tool: a listed rule selects it, and any other rule does not. Each entry also lists what excludes some of its principals
 * or arguments; a deny rule that covers all of an entry removes it.
 *
 * Layers do not count for a file access, an allow rule that asks denies it, and without a rule that names it everybody has it.
 */
export function whoCan(
  bundle: CompiledBundle,
  tool: ToolRef,
  serverLabels: readonly string[] | undefined,
): Reach {
  if (!isConsistent(tool)) return { reach: [], deniedBy: [], omitted: 0 };
  if (isUndecidedFile(bundle, tool)) return { reach: [EVERYBODY], deniedBy: [], omitted: 0 };
  const isFile = fileAccessOf(tool) !== null;
  const target = targetOf(bundle, tool, serverLabels);
  const about = bundle.rules.filter((rule) => isAbout(rule, target));
  const isDenying = (rule: CompiledRule): boolean =>
    rule.effect === "deny" || (isFile && tierOf(bundle, rule, tool) !== "auto");
  const denies = about.filter(isDenying);
  const total = denies.filter((deny) => isUnconditional(deny) && isForEverybody(deny));
  const layers = bundle.narrowings.flatMap(({ layer }) =>
    !isFile && layer?.keepsOut(tool) === true ? [layer] : [],
  );
  const deniedBy = [
    ...total.map(({ id }) => id),
    ...layers.filter((layer) => layer.isForEverybody).map(({ id }) => `layer ${id}`),
  ];
  if (deniedBy.length > 0) return { reach: [], deniedBy: deniedBy.slice(0, 100), omitted: 0 };
  const reach = about
    .filter((rule) => !isDenying(rule))
    .filter((allow) => !denies.some((deny) => isUnconditional(deny) && coversWho(deny, allow)))
    .map((allow) => ({
      rule: allow.id,
      tier: tierOf(bundle, allow, tool),
      users: mutable(allow.users),
      agents: mutable(allow.agents),
      roles: mutable(allow.roles),
      channels: mutable(allow.channels),
      groups: mutable(allow.groups),
      conditional: !isUnconditional(allow),
      except: [...denies.map(({ id }) => id), ...layers.map(({ id }) => `layer ${id}`)],
    }));
  return {
    reach: reach.slice(0, MAX_REACH),
    deniedBy: [],
    omitted: Math.max(0, reach.length - MAX_REACH),
  };
}

function isAbout(rule: CompiledRule, target: Target): boolean {
  return (
    selectsLabels(rule, target.labels) &&
    rule.patterns.some((pattern) => selectsTool({ pattern }, target))
  );
}

function isUnconditional({ conditions }: CompiledRule): boolean {
  return conditions.length === 0;
}

const PARTS = ["users", "agents", "roles", "channels", "groups"] as const;

function isForEverybody(rule: CompiledRule): boolean {
  return PARTS.every(
    (part) => rule[part] === null || (part === "users" && rule.users?.includes("*")),
  );
}

/** True only when every principal that the allow rule selects is selected by the deny rule. */
function coversWho(deny: CompiledRule, allow: CompiledRule): boolean {
  return PARTS.every((part) => {
    const globs = deny[part];
    if (globs === null) return true;
    const others = allow[part] ?? (part === "users" ? ["*"] : null);
    return others?.every((other) => globs.some((glob) => coversGlob(glob, other))) ?? false;
  });
}

function mutable(globs: readonly string[] | null): string[] | null {
  return globs === null ? null : [...globs];
}
