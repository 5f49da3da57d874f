// The keys of one run in Redis. They share a hash tag, so one script may use them together.

export function stateKey(runId: string): string {
  return `yard:run:{${runId}}:state`;
}

export function journalKey(runId: string): string {
  return `yard:run:{${runId}}:journal`;
}

/** The keys that a run has from its start to its end. */
export function keysOf(runId: string): [string, string, string] {
  return [stateKey(runId), journalKey(runId), blobsKey(runId)];
}

/** Requests to cancel a run that does not exist yet. */
export function cancelsKey(runId: string): string {
  return `yard:run:{${runId}}:cancels`;
}

/** The trace of a run that was deleted by request. */
export function deletedKey(runId: string): string {
  return `yard:run:{${runId}}:deleted`;
}

/** The key that names the process preparing a run that does not exist yet. */
export function claimKey(runId: string): string {
  return `yard:run:{${runId}}:claim`;
}

export function blobsKey(runId: string): string {
  return `yard:run:{${runId}}:blobs`;
}

/** The keys that a claim of a run looks at. */
export function claimKeysOf(runId: string): string[] {
  return [...keysOf(runId), cancelsKey(runId), deletedKey(runId)];
}
