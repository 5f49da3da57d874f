import type { ServiceError } from "./errors.ts";

/** The service that answers the requests of an area, the third part of `yard.rpc.{caller}.{area}`. */
const SERVICE_OF: Readonly<Record<string, string>> = {
  agents: "importer",
  approvals: "policy",
  files: "runner",
  grants: "policy",
  mcp: "broker",
  models: "runner",
  run: "runner",
  runs: "runner",
  schedules: "scheduler",
  sessions: "runner",
  skills: "importer",
};
const SUBJECT = /yard\.(?:rpc|cmd)\.[^\s.]+\.([\w-]+)((?:\.[\w~*-]+)*)/g;

/** The message in a person's words: services and requests in place of subjects of NATS. */
export function withoutSubjects({ code, message }: ServiceError): string {
  const [, area = ""] = /yard\.rpc\.[^\s.]+\.([\w-]+)/.exec(message) ?? [];
  const service = SERVICE_OF[area] ?? area;
  if (code === "no_responders" && area !== "")
    return `the service ${service} does not answer: it is not running, or is still starting`;
  return message.replaceAll(SUBJECT, (_, of: string, rest: string) => `${of}${rest}`);
}
