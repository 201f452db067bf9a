// Returns the texts of the page whose contrast with what lies behind them is below 4.5 (WCAG AA).
const context = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
function rgb(colour) {
  context.clearRect(0, 0, 1, 1);
  context.fillStyle = colour;
  context.fillRect(0, 0, 1, 1);
  return [...context.getImageData(0, 0, 1, 1).data];
}
function light([red, green, blue]) {
  const [r, g, b] = [red, green, blue].map((part) => part / 255).map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}
function behind(element) {
  for (let each = element; each; each = each.parentElement) {
    const colour = rgb(getComputedStyle(each).backgroundColor);
    if (colour[3] === 255) return colour;
  }
  return [255, 255, 255];
}
const weak = new Set();
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const element = walker.currentNode.parentElement;
  if (!walker.currentNode.data.trim() || !element.checkVisibility() || element.closest("script, option")) continue;
  const style = getComputedStyle(element);
  const [a, b] = [light(rgb(element.closest("svg") ? style.fill : style.color)), light(behind(element))];
  const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  if (ratio < 4.5) weak.add(`${walker.currentNode.data.trim().slice(0, 30)}: ${ratio.toFixed(2)}`);
}
return [...weak];
