// Sets the colours that were chosen on this machine before anything is painted. No module: those run after the first paint.
try {
  const chosen = localStorage.getItem("vectail.theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
} catch {
  // Storage may be forbidden; the system's colours hold then.
}
