import { ImporterEnv } from "../../services/skill-importer/src/config.ts";
import { Config as PolicyEnv } from "../../services/policy/src/config.ts";
import { Config as GatewayEnv } from "../../services/gateway/src/config.ts";
import { z } from "zod";
import { RunnerEnv } from "../../services/agent-runner/src/config.ts";
import { ChannelsEnv } from "../../services/channels/src/config.ts";
import { brokerEnv } from "../../services/mcp-broker/src/config.ts";
import { schedulerEnv } from "../../services/scheduler/src/config.ts";
import { toolboxEnv } from "../../services/toolbox/src/config.ts";
import { code, table } from "./markdown-table.ts";
import { ALSO_READ_BY, DEFAULTS, SETTINGS } from "./settings-list.ts";

/** The schemas of the services, by their NATS users. */
const SCHEMAS: Readonly<Record<string, z.ZodObject>> = {
  policy: PolicyEnv,
  broker: brokerEnv,
  toolbox: toolboxEnv,
  importer: ImporterEnv,
  runner: RunnerEnv,
  channels: ChannelsEnv,
  scheduler: schedulerEnv,
  gateway: GatewayEnv,
};

const UNITS: Readonly<Record<string, string>> = {
  MS: "ms",
  MB: "MiB",
  MIB: "MiB",
  BYTES: "bytes",
  SECONDS: "s",
  HOURS: "hours",
  DAYS: "days",
};

/** The tables of docs/reference/settings.md. Throws for a setting of a service that the list does not have. */
export function settingsTables(): string {
  const listed = new Set(Object.values(SETTINGS).flatMap((topic) => Object.keys(topic)));
  for (const [service, schema] of Object.entries(SCHEMAS))
    for (const name of Object.keys(schema.shape))
      if (name.startsWith("YARD_") && !listed.has(name))
        throw new Error(`settings-list.ts has no line for ${name} of ${service}`);
  return Object.entries(SETTINGS)
    .map(([topic, settings]) => `## ${topic}\n\n${tableOf(settings)}`)
    .join("\n\n");
}

function tableOf(settings: Readonly<Record<string, string>>): string {
  return table(
    ["setting", "read by", "default", "unit", "meaning"],
    Object.entries(settings).map(([name, meaning]) => [
      code(name),
      readersOf(name),
      defaultOf(name),
      UNITS[name.slice(name.lastIndexOf("_") + 1)] ?? "",
      meaning,
    ]),
  );
}

function readersOf(name: string): string {
  const services = Object.keys(SCHEMAS).filter((user) => SCHEMAS[user]?.shape[name] !== undefined);
  const own = services.length === Object.keys(SCHEMAS).length ? ["all services"] : services;
  const readers = [...new Set([...own, ...(ALSO_READ_BY[name] ?? [])])];
  return readers.length === 0 ? "yard" : readers.join(", ");
}

function defaultOf(name: string): string {
  const written = DEFAULTS[name];
  if (written !== undefined) return written;
  const schema = Object.values(SCHEMAS).find(({ shape }) => shape[name] !== undefined)?.shape[name];
  return schema === undefined ? "" : textOfDefault(schema as z.ZodType);
}

function textOfDefault(schema: z.ZodType): string {
  if (schema instanceof z.ZodOptional) return "";
  if (schema instanceof z.ZodPipe) return textOfDefault(schema.def.in as z.ZodType);
  if (!(schema instanceof z.ZodDefault)) return "required";
  const value: unknown = schema.def.defaultValue;
  if (typeof value === "boolean") return code(value ? "1" : "0");
  const text = String(value);
  return text === "" ? "" : code(text);
}
