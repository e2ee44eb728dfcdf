/* Sets up the colour theme and renders all sections. */

const THEMES = {
  auto: ['Auto', 'system default'],
  light: ['Light', 'light'],
  dark: ['Dark', 'dark'],
};

function startTheme() {
  const button = byId('theme');
  const order = Object.keys(THEMES);
  let theme = 'auto';
  button.addEventListener('click', () => {
    theme = order[(order.indexOf(theme) + 1) % order.length];
    document.documentElement.dataset.theme = theme;
    const [text, label] = THEMES[theme];
    button.textContent = text;
    button.setAttribute('aria-label', `Colours: ${label}`);
  });
}

startTheme();
showOverview();
showTimeline();
showContext();
showTotals();
showCompactions();
showPlans();
showRequests();
showCompare();
showNavigation();
showCalls();
document.documentElement.dataset.ready = 'yes';
