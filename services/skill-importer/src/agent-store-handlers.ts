import type { Service } from "@switchyard/bus/serve";
import { agentPaths } from "@switchyard/contracts/agent-paths";
import {
  diffAgent,
  listAgentVersions,
  removeAgent,
  rollbackAgent,
  unpackAgents,
  uploadAgents,
} from "@switchyard/contracts/agent-store";
import { removeAgent as remove } from "./store/change-agent.ts";
import { diffAgents, type AgentSide } from "./store/diff-agents.ts";
import { rollbackAgent as rollback } from "./store/rollback-agent.ts";
import {
  bytesOfSent,
  knownNames,
  pairOf,
  refusals,
  requireAdmin,
  requireSize,
  unpackSent,
} from "./upload/intake.ts";
import { uploadAgents as upload, type UploadAgentsParts } from "./upload/upload-agents.ts";

export interface AgentStoreParts {
  readonly agents: UploadAgentsParts;
  /** NATS users that may change what is imported. */
  readonly admins: readonly string[];
}

const say = refusals("agent");

/** Answers what clients bring in of agents, and everything about versions. */
export function serveAgentStore(service: Pick<Service, "handle">, parts: AgentStoreParts): void {
  serveUploads(service, parts);
  serveChanges(service, parts);
  serveVersions(service, parts.agents);
}

function serveUploads(service: Pick<Service, "handle">, { agents, admins }: AgentStoreParts): void {
  service.handle(uploadAgents, async (request, context) => {
    const { label, git, dryRun, withReports, importId } = request;
    if (!dryRun) requireAdmin(context, admins);
    requireSize(request.files, context.fail);
    const files = request.files.map((file) => ({ path: file.path, bytes: bytesOfSent(file) }));
    const provenance = { source: "upload" as const, label, by: context.caller, git };
    return upload(agents, { files, findings: [], provenance, dryRun, withReports, importId });
  });

  service.handle(unpackAgents, async (request, context) => {
    const { label, git, dryRun, withReports, importId } = request;
    if (!dryRun) requireAdmin(context, admins);
    const unpacked = await unpackSent(request, context.fail);
    const files = agentPaths([...unpacked.files.keys()]).flatMap((path) => {
      const bytes = unpacked.files.get(path);
      return bytes === undefined ? [] : [{ path, bytes }];
    });
    const provenance = { source: "archive" as const, label, by: context.caller, git };
    const { findings } = unpacked;
    return upload(agents, { files, findings, provenance, dryRun, withReports, importId });
  });
}

function serveChanges(service: Pick<Service, "handle">, { agents, admins }: AgentStoreParts): void {
  service.handle(removeAgent, async ({ name }, context) => {
    requireAdmin(context, admins);
    const { fail } = context;
    const result = await remove(agents, name);
    switch (result.kind) {
      case "removed":
        return { name, digest: result.digest, current: result.current };
      case "managed-by-files":
        throw fail.managed_by_files(say.managedByFiles(name, result.file), {
          name,
          file: result.file,
        });
      case "built-in":
        throw fail.built_in_agent(
          `${name} comes with the importer; import an agent of that name to take its place`,
          { name },
        );
      case "unknown":
        throw fail.unknown_agent(say.unknown(name), { name, known: await someNames(agents) });
      default:
        return result satisfies never;
    }
  });

  service.handle(rollbackAgent, async ({ name, digest }, context) => {
    requireAdmin(context, admins);
    const { fail } = context;
    const result = await rollback(agents, name, digest);
    switch (result.kind) {
      case "rolled-back":
        return { name, digest: result.digest, before: result.before };
      case "managed-by-files":
        throw fail.managed_by_files(say.managedByFiles(name, result.file), {
          name,
          file: result.file,
        });
      case "unknown":
        throw fail.unknown_agent(say.unknown(name), { name, known: await someNames(agents) });
      case "unknown-version":
        throw fail.unknown_version(say.noVersion(name, digest ?? ""), {
          name,
          version: digest ?? "",
        });
      case "blocked":
        throw fail.version_blocked(say.blocked(name, result.digest), {
          name,
          version: result.digest,
        });
      default:
        return result satisfies never;
    }
  });
}

function serveVersions(service: Pick<Service, "handle">, agents: UploadAgentsParts): void {
  const { store, versions } = agents;

  service.handle(listAgentVersions, async ({ name }, { fail }) => {
    const [all, { listed, withheld }] = await Promise.all([
      versions.list(name),
      store.loadAgents([name]),
    ]);
    if (all.length === 0 && listed.length === 0) {
      throw fail.unknown_agent(say.unknown(name), { name, known: await someNames(agents) });
    }
    const waiting = withheld.find(
      ({ kind, entry }) => kind === "agent" && entry.summary.name === name,
    );
    return {
      current: listed[0]?.summary.digest ?? null,
      withheld:
        waiting === undefined
          ? null
          : { digest: waiting.entry.summary.digest, reason: waiting.reason },
      versions: all,
    };
  });

  service.handle(diffAgent, async ({ name, from, to }, { fail }) => {
    const all = await versions.list(name);
    if (all.length === 0) {
      throw fail.unknown_agent(say.unknown(name), { name, known: await someNames(agents) });
    }
    const pair = pairOf(all, { from, to }, ({ digest }) => digest);
    if ("missing" in pair) {
      const version = pair.missing;
      throw fail.unknown_version(say.noVersion(name, version), { name, version });
    }
    const { older, newer } = pair;
    const [before, after] = await Promise.all([
      side(agents, name, older.digest),
      side(agents, name, newer.digest),
    ]);
    if (before === null || after === null) {
      const version = before === null ? older.digest : newer.digest;
      throw fail.unknown_version(say.noVersion(name, version), { name, version });
    }
    return { from: older.digest, to: newer.digest, ...diffAgents(before, after) };
  });
}

async function side(
  { store, versions }: UploadAgentsParts,
  name: string,
  digest: string,
): Promise<AgentSide | null> {
  const agent = await store.readAgent(name, digest);
  return agent === null ? null : { agent, report: await versions.report(name, digest) };
}

async function someNames({ store }: UploadAgentsParts): Promise<string[]> {
  return knownNames(await store.listAgents());
}
