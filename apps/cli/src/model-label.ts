/** Labels a model; a scripted or recorded one must not pass for an AI. */
export function modelLabel(model: string): string {
  if (model.startsWith("scripted/")) return `${model} — rule-based, no AI`;
  if (model.startsWith("replay/")) return `${model} — recorded answers, no AI`;
  return model;
}
