// Live figures, charts by keyboard, and copying. Every page works without it.

// Replaces the elements marked data-live by those of a fresh copy of the page, as long as the page is
// visible and nothing in them has the focus or the pointer.
const main = document.querySelector("main[data-refresh]");
const busy = (part) =>
  part.contains(document.activeElement) || part.matches(":hover") || part.querySelector("details[open]");

async function refresh() {
  if (document.hidden) return;
  // The header says that no person asks: the session ends all the same when it is not used.
  const headers = { "kiosque-renewal": "1" };
  const answer = await fetch(location.href, { redirect: "manual", headers });
  // The session has ended: the page asks to sign in.
  if (answer.type === "opaqueredirect") return location.reload();
  if (!answer.ok) return;
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
  for (const part of document.querySelectorAll("[data-live][id]")) {
    const next = fresh.getElementById(part.id);
    if (next && !busy(part) && next.innerHTML !== part.innerHTML) part.replaceWith(next);
  }
}

if (main) {
  const wait = Number(main.dataset.refresh) * 1000;
  const again = () => refresh().catch(() => {}).finally(() => setTimeout(again, wait));
  setTimeout(again, wait);
}

// Arrow keys move along the points of a chart; its live region says each.
document.addEventListener("keydown", (event) => {
  const chart = event.target.closest?.("[data-chart]");
  const step = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity }[event.key];
  if (!chart || !step) return;
  event.preventDefault();
  const points = [...chart.querySelectorAll(".points > g")];
  const from = points.findIndex((point) => point.classList.contains("active"));
  const start = from < 0 ? (step > 0 ? -1 : points.length) : from;
  const to = Math.max(0, Math.min(points.length - 1, start + step));
  points.forEach((point, at) => point.classList.toggle("active", at === to));
  let said = document.getElementById("said");
  if (!said) {
    said = document.createElement("output");
    said.id = "said";
    said.className = "unseen";
    document.body.append(said);
  }
  said.textContent = points[to]?.textContent ?? "";
});

// Forms with one choice are sent when it is made.
document.addEventListener("change", (event) => {
  event.target.closest?.("form[data-submit]")?.requestSubmit();
});

// Buttons with data-copy copy the text of the element that they name, or select it in a browser that
// does not permit that.
document.addEventListener("click", async (event) => {
  const button = event.target.closest?.("[data-copy]");
  if (!button) return;
  const source = document.getElementById(button.dataset.copy);
  try {
    await navigator.clipboard.writeText(source.textContent);
  } catch {
    return getSelection().selectAllChildren(source);
  }
  button.classList.add("done");
  setTimeout(() => button.classList.remove("done"), 1500);
});
document.documentElement.classList.add("scripted");
// On a narrow screen the navigation scrolls within itself.
document.querySelector("nav [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
