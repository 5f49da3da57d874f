import { streamsFor } from "@switchyard/bus/streams";
import { hasOwnCommands } from "@switchyard/topology/command-streams";
import { hasOwnPayloads } from "@switchyard/topology/payload-stores";
import { installedUsers, type BusUser } from "@switchyard/topology/topology";
import { stringify } from "yaml";

type Wanted = ReturnType<typeof streamsFor>[number];

const HEAD = `# Generated from libs/contracts by "npm run generate"; do not edit.
# The streams of an installation without teams, for NACK (https://github.com/nats-io/nack) on a cluster of three. NACK makes what is missing and
# changes and deletes nothing: \`yard streams ensure\` keeps them current, and adds the consumers and allow_batched of YARD_EVENTS,
# which NACK cannot say. See docs/kubernetes.md.
`;
const REPLICAS = 3;
const NANOSECONDS = 1_000_000;

/** The streams as resources of NACK's CRD. */
export function nackStreams(): string {
  const streams = streamsFor({
    withPayloads: namesOf(hasOwnPayloads),
    withCommands: namesOf(hasOwnCommands),
  });
  const documents = streams.map((stream) => stringify(resourceOf(stream), { lineWidth: 0 }));
  return `${HEAD}---\n${documents.join("---\n")}`;
}

function namesOf(owns: (user: BusUser) => boolean): string[] {
  const found = installedUsers.filter(owns).map(({ name }) => name);
  return found.toSorted();
}

function resourceOf(stream: Wanted): object {
  return {
    apiVersion: "jetstream.nats.io/v1beta2",
    kind: "Stream",
    metadata: { name: stream.name.toLowerCase().replaceAll("_", "-") },
    spec: { ...specOf(stream), replicas: REPLICAS, preventUpdate: true, preventDelete: true },
  };
}

/** Throws for a setting that has no word here: it is added, or named in the head of the file. */
function specOf(stream: Wanted): object {
  const said = Object.entries(stream).filter(
    ([key, value]) => value !== undefined && value !== false && key !== "allow_batched",
  );
  return Object.fromEntries(
    said.map(([key, value]) => {
      const name = SPEC[key];
      if (name === undefined) throw new Error(`${stream.name}: ${key} has no name in NACK's CRD`);
      return [name, specValue(key, value)];
    }),
  );
}

function specValue(key: string, value: unknown): unknown {
  if (key === "max_age" || key === "duplicate_window") return goDuration(Number(value));
  if (key === "sources") return (value as NonNullable<Wanted["sources"]>).map(sourceOf); // of that key
  if (key === "subject_transform") return renaming(value as { src: string; dest: string }); // of that key
  return value;
}

function sourceOf(source: NonNullable<Wanted["sources"]>[number]): object {
  const { name, opt_start_seq, filter_subject, subject_transforms } = source;
  return {
    name,
    ...(opt_start_seq === undefined ? {} : { optStartSeq: opt_start_seq }),
    ...(filter_subject === undefined ? {} : { filterSubject: filter_subject }),
    ...(subject_transforms === undefined
      ? {}
      : { subjectTransforms: subject_transforms.map(renaming) }),
  };
}

function renaming({ src, dest }: { src?: string; dest: string }): object {
  return { source: src, dest };
}

/** As Go writes a time; all of ours are whole seconds. */
function goDuration(nanoseconds: number): string {
  return `${nanoseconds / NANOSECONDS / 1_000}s`;
}

const SPEC: Readonly<Record<string, string>> = {
  name: "name",
  description: "description",
  subjects: "subjects",
  retention: "retention",
  storage: "storage",
  discard: "discard",
  max_age: "maxAge",
  max_bytes: "maxBytes",
  max_msgs: "maxMsgs",
  max_msg_size: "maxMsgSize",
  max_msgs_per_subject: "maxMsgsPerSubject",
  discard_new_per_subject: "discardPerSubject",
  duplicate_window: "duplicateWindow",
  allow_direct: "allowDirect",
  allow_msg_ttl: "allowMsgTtl",
  allow_msg_schedules: "allowMsgSchedules",
  deny_delete: "denyDelete",
  deny_purge: "denyPurge",
  compression: "compression",
  sources: "sources",
  subject_transform: "subjectTransform",
};
