import { filterOf, type Contract, type Rpc } from "@switchyard/contracts/define";
import { allContracts, contractsByOwner, isRpc } from "@switchyard/contracts/registry";
import { allConsumers, allStreams } from "@switchyard/contracts/streams";
import { anonymousUser, cliUser, installedUsers as users } from "@switchyard/contracts/topology";
import { code, table } from "./markdown-table.ts";

/** Who serves which request, who calls it, and with which errors it may answer. */
export function rpcTable(): string {
  const rows = allContracts
    .filter(isRpc)
    .map((contract) => [
      code(contract.subject),
      ownerOf(contract),
      callersOf(contract),
      contract.summary,
      Object.keys(contract.errors).map(code).join(", ") || "–",
    ]);
  return table(["subject", "served by", "called by", "what it does", "declared errors"], rows);
}

/** Commands, events and live output, with who publishes them. */
export function eventTable(): string {
  const rows = allContracts
    .filter((contract) => contract.kind !== "rpc")
    .map((contract) => [
      code(contract.subject),
      contract.kind,
      contract.kind === "command" ? "clients" : ownerOf(contract),
      contract.summary,
    ]);
  return table(["subject", "kind", "published by", "what it says"], rows);
}

/** The JetStream streams and the work queues on them. */
export function streamTable(): string {
  const rows = allStreams.map((stream) => [
    code(stream.name),
    stream.subjects.map(code).join(" "),
    stream.retention,
    `${stream.maxAgeMs / 86_400_000} days`,
    allConsumers
      .filter((consumer) => consumer.stream === stream.name)
      .map((consumer) => `${code(consumer.name)} (${consumer.description.toLowerCase()})`)
      .join(", ") || "–",
  ]);
  return table(["stream", "subjects", "retention", "kept", "durable consumers"], rows);
}

function ownerOf(contract: Contract): string {
  const owner = Object.entries(contractsByOwner).find(([, owned]) =>
    owned.some((candidate) => filterOf(candidate) === filterOf(contract)),
  );
  return owner?.[0] ?? "–";
}

/** Any client may call it, not the command line alone. */
function isForTeams({ name }: Rpc): boolean {
  return anonymousUser.calls.some((called) => called.name === name);
}

function callersOf(contract: Rpc): string {
  const names = users
    .filter((user) => user.calls.some((called) => called.name === contract.name))
    .map((user) => (user === cliUser && isForTeams(contract) ? "clients" : user.name));
  return names.join(", ") || "–";
}
