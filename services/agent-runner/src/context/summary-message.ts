/** How a summary stands in the conversation, in place of the answers that it is of. */
export function summaryMessage(summary: string): string {
  return `The earlier steps of this work, summarised; they are done and their results are known:\n<summary>\n${summary}\n</summary>`;
}
