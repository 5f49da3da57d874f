/** What a model is, in words that promise nothing it is not. */
export function modelLabel(model: string): string {
  if (model.startsWith("scripted/")) return `${model} — rule-based, no AI`;
  if (model.startsWith("replay/")) return `${model} — recorded answers, no AI`;
  return model;
}
