/** True for the statuses in which no runner works on the run and none will without a command. */
export function isOver(status: string): boolean {
  return ["succeeded", "failed", "cancelled", "dead", "rejected", "merged"].includes(status);
}
