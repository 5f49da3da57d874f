/** The texts of a form that is being submitted, by name; keeps the browser from sending it. */
export function textsOf(event: SubmitEvent): (name: string) => string {
  event.preventDefault();
  const form = new FormData(event.currentTarget as HTMLFormElement);
  return (name) => {
    const value = form.get(name);
    return typeof value === "string" ? value : "";
  };
}
