import { randomUUID } from "node:crypto";
import { cutText } from "@switchyard/contracts/cut-text";
import { ServiceError } from "@switchyard/contracts/errors";
import type {
  ImportCounts,
  ImportedSkill,
  SentSkill,
  unpackSkills,
  uploadSkills,
} from "@switchyard/contracts/skill-importer/skill-store";
import type { SkillTarget } from "@switchyard/contracts/skill-importer/skills";
import type { GitOrigin } from "@switchyard/service/git-origin";
import { packTar } from "modern-tar";
import type { z } from "zod";
import { firstNames } from "./first-names.ts";
import type { LocalSkill } from "./local-skills.ts";

/** The upload target of skills: the importer over the bus, or one in this process. */
export interface SkillImporter {
  uploadSkills(
    request: z.input<typeof uploadSkills.request>,
  ): Promise<z.output<typeof uploadSkills.reply>>;
  unpackSkills(
    request: z.input<typeof unpackSkills.request>,
    archive: Uint8Array,
  ): Promise<z.output<typeof unpackSkills.reply>>;
}

export interface SendOptions {
  readonly label: string;
  readonly git: GitOrigin | null;
  readonly dryRun: boolean;
  readonly targets?: readonly SkillTarget[];
  readonly withReports?: boolean;
  /** Called for each skill once, in the order of the directory. */
  readonly onSkill: (skill: ImportedSkill) => void;
}

/** A batch is sent when it has this much: a few messages under way, and none needs the payload bucket as a rule. */
const BATCH = { skills: 64, files: 2_000, bytes: 300 * 1024 };
/** A larger skill is sent as an archive: as JSON it could be more than a request may have. */
const MOST_AS_JSON = 3 * 1024 * 1024;
const UNDER_WAY = 3;
/** With these no further batch would do better. */
const HOPELESS = new Set([
  "no_responders",
  "disconnected",
  "forbidden",
  "forbidden_admin",
  "closed",
]);

/**
 * Sends skills in batches and adds up the results. A batch that fails is reported skill by skill under the failure's code, and the
 * next one is sent; only a failure that all would meet is thrown.
 */
export async function sendSkills(
  importer: SkillImporter,
  skills: AsyncIterable<LocalSkill>,
  options: SendOptions,
): Promise<ImportCounts> {
  const total = noCounts();
  const importId = randomUUID();
  const duplicateOf = firstNames();
  const waiting: Promise<ImportedSkill[]>[] = [];
  const settle = async () => {
    for (const skill of (await waiting.shift()) ?? []) {
      const why = options.dryRun ? duplicateOf(skill) : null;
      const result = why === null ? skill : skippedSkill(skill, why);
      count(total, result);
      options.onSkill(result);
    }
  };
  for await (const batch of batches(skills)) {
    // One part after the other, so that of two skills with one name it is always the first that counts.
    if (!options.dryRun) await settle();
    const sending = send(importer, batch, { ...options, importId });
    // It is awaited in its turn; until then a rejection must not count as unhandled.
    sending.catch(() => {});
    waiting.push(sending);
    if (waiting.length >= UNDER_WAY) await settle();
  }
  while (waiting.length > 0) await settle();
  return total;
}

/** Zeroes to add to. */
export function noCounts(): ImportCounts {
  return { found: 0, loaded: 0, repaired: 0, skipped: 0, withheld: 0, reasons: {} };
}

/** Adds the results of one source to those of others. */
export function addCounts(total: ImportCounts, { reasons, ...more }: ImportCounts): void {
  for (const name of ["found", "loaded", "repaired", "skipped", "withheld"] as const)
    total[name] += more[name];
  for (const [code, many] of Object.entries(reasons))
    total.reasons[code] = (total.reasons[code] ?? 0) + many;
}

function count(total: ImportCounts, { outcome, withheld, diagnostics }: ImportedSkill): void {
  total.found += 1;
  if (withheld !== null) total.withheld += 1;
  if (outcome === "repaired") total.repaired += 1;
  if (outcome !== "skipped") {
    total.loaded += 1;
    return;
  }
  total.skipped += 1;
  const code = diagnostics.find(({ severity }) => severity === "error")?.code ?? "unknown";
  total.reasons[code] = (total.reasons[code] ?? 0) + 1;
}

async function* batches(skills: AsyncIterable<LocalSkill>): AsyncGenerator<LocalSkill[]> {
  let batch: LocalSkill[] = [];
  let bytes = 0;
  let files = 0;
  for await (const skill of skills) {
    const more = skill.skill.files.length;
    if (batch.length > 0 && (bytes + skill.sizeBytes > BATCH.bytes || files + more > BATCH.files)) {
      yield batch;
      [batch, bytes, files] = [[], 0, 0];
    }
    batch.push(skill);
    bytes += skill.sizeBytes;
    files += more;
    if (batch.length < BATCH.skills) continue;
    yield batch;
    [batch, bytes, files] = [[], 0, 0];
  }
  if (batch.length > 0) yield batch;
}

async function send(
  importer: SkillImporter,
  batch: readonly LocalSkill[],
  {
    label,
    git,
    dryRun,
    importId,
    targets = [],
    withReports = false,
  }: SendOptions & { readonly importId: string },
): Promise<ImportedSkill[]> {
  const leftOut = new Map(batch.map(({ skill, leftOut: files }) => [skill.directory, files]));
  try {
    const request = { label: cutText(label, 1_024), git, dryRun, importId, withReports };
    const sent = { ...request, targets: [...targets] };
    const [only] = batch;
    const reply =
      only !== undefined && only.sizeBytes > MOST_AS_JSON
        ? await importer.unpackSkills({ ...sent, format: "tar" }, await packed(only.skill))
        : await importer.uploadSkills({ ...sent, skills: batch.map(({ skill }) => skill) });
    return reply.skills.map((skill, index) =>
      withLeftOut(skill, leftOut.get(batch[index]?.skill.directory ?? "") ?? []),
    );
  } catch (error) {
    if (!(error instanceof ServiceError) || HOPELESS.has(error.code)) throw error;
    return batch.map(({ skill }) => notSent(skill, error));
  }
}

async function packed({ directory, files }: SentSkill): Promise<Uint8Array> {
  // The directory of an archive's own files is called ".".
  const above = directory === "." ? "" : `${directory}/`;
  return packTar(
    files.map(({ path, text, base64 }) => {
      const body = text === undefined ? Buffer.from(base64 ?? "", "base64") : Buffer.from(text);
      return { header: { name: `${above}${path}`, size: body.length }, body };
    }),
  );
}

function withLeftOut(skill: ImportedSkill, files: readonly string[]): ImportedSkill {
  const warnings = files.map((text) => ({
    severity: "warning" as const,
    code: "file_not_sent",
    message: text,
    file: skill.file,
    line: null,
    column: null,
  }));
  return warnings.length === 0
    ? skill
    : { ...skill, diagnostics: [...skill.diagnostics, ...warnings] };
}

function notSent({ directory: file }: SentSkill, { code, message }: ServiceError): ImportedSkill {
  const unread = { file, diagnostics: [], dependenciesMet: null, dependencyWarnings: [] };
  return skippedSkill(unread, { severity: "error", code, message, file, line: null, column: null });
}

/** A skill that is not imported after all, and why. */
function skippedSkill(
  skill: Pick<ImportedSkill, "file" | "diagnostics" | "dependenciesMet" | "dependencyWarnings">,
  why: ImportedSkill["diagnostics"][number],
): ImportedSkill {
  return {
    ...skill,
    name: null,
    description: "",
    version: null,
    outcome: "skipped",
    change: null,
    withheld: null,
    diagnostics: [why, ...skill.diagnostics],
  };
}
