import { errorFinding } from "../finding.ts";
import { judgeAgent, type AgentJob, type AgentJudgement } from "./judge-agent.ts";
import { judgeSkill, type Judgement, type JudgeJob } from "./judge-skill.ts";

/** What a thread is given. */
export type Job =
  | { readonly kind: "skill"; readonly job: JudgeJob }
  | { readonly kind: "agent"; readonly job: AgentJob };

/** What it answers. */
export type Verdict =
  | { readonly kind: "skill"; readonly judgement: Judgement }
  | { readonly kind: "agent"; readonly judgement: AgentJudgement };

/** Reads files that somebody else wrote. Never rejects for what they hold. */
export interface Judges {
  skill(job: JudgeJob): Promise<Judgement>;
  agent(job: AgentJob): Promise<AgentJudgement>;
}

/** Reads in this thread, where nothing ends what hangs: for files that are known. */
export const judgesHere: Judges = {
  skill: (job) => Promise.resolve(judgeSkill(job)),
  agent: (job) => Promise.resolve(judgeAgent(job)),
};

/** Does a job in this thread. */
export function doJob(job: Job): Verdict {
  switch (job.kind) {
    case "skill":
      return { kind: "skill", judgement: judgeSkill(job.job) };
    case "agent":
      return { kind: "agent", judgement: judgeAgent(job.job) };
    default:
      return job satisfies never;
  }
}

/** The verdict on a file that nobody could read to its end. */
export function unreadable({ kind }: Job, code: string, message: string): Verdict {
  const findings = [errorFinding(code, message)];
  return kind === "agent"
    ? { kind, judgement: { parsed: { kind: "skipped", findings }, report: null } }
    : {
        kind,
        judgement: {
          parsed: { skill: null, metadata: null, findings, conformance: [] },
          report: null,
        },
      };
}

/** A job to send away, and the memory that goes with it. */
export interface Packed {
  readonly message: Job;
  readonly memory: readonly ArrayBuffer[];
  readonly sizeBytes: number;
}

/** Copies what is sent: a view may be a small part of a large archive. */
export function packed(job: Job): Packed {
  if (job.kind === "agent") {
    const bytes = new Uint8Array(job.job.bytes);
    const message = { ...job, job: { ...job.job, bytes } };
    return { message, memory: [bytes.buffer], sizeBytes: bytes.length };
  }
  const files = new Map([...job.job.files].map(([path, bytes]) => [path, new Uint8Array(bytes)]));
  const memory = [...files.values()].map(({ buffer }) => buffer);
  const sizeBytes = memory.reduce((sum, { byteLength }) => sum + byteLength, 0);
  return { message: { ...job, job: { ...job.job, files } }, memory, sizeBytes };
}
